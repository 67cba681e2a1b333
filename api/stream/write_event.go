package stream

import (
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/encode"
)

var errEvent = errors.New("stream: the id or type of an event has a line break or NUL, or its delay is negative")

// SendEvents sends server-sent events like [Send]. The data is text if T is string, and JSON otherwise.
func SendEvents[T any](w http.ResponseWriter, status int, mediaType string, events iter.Seq2[Event[T], error], headers func(http.Header) error) error {
	s, err := begin(w, status, mediaType, headers)
	if err != nil || s.silent || events == nil {
		return err
	}
	defer s.end()
	var event Event[T] // of the loop, so that not each event is allocated
	for next, err := range events {
		if err != nil {
			return s.fail(err)
		}
		event = next
		if err := s.encodeEvent(event.ID, event.Event, event.Retry, func() (err error) {
			if text, ok := any(&event.Data).(*string); ok {
				s.item = append(s.item[:0], *text...)
				return nil
			}
			s.item, err = encode.Append(s.item[:0], &event.Data)
			return err
		}); err != nil {
			return s.fail(err)
		}
		if !s.sendText() {
			break
		}
	}
	return s.finish()
}

// encodeEvent encodes an event, and checks it if there is a checker. The function data encodes its data into s.item.
func (s *sender) encodeEvent(id, event string, retry time.Duration, data func() error) error {
	err := data()
	if err == nil && s.checker != nil {
		s.text = appendObject(s.text[:0], id, event, retry, s.item)
		err = s.checker.CheckItem(s.text)
	}
	if err == nil {
		s.text, err = appendEvent(s.text[:0], id, event, retry, s.item)
	}
	return err
}

// appendEvent appends an event.
func appendEvent(text []byte, id, event string, retry time.Duration, data []byte) ([]byte, error) {
	if strings.ContainsAny(id, "\r\n\x00") || strings.ContainsAny(event, "\r\n") || retry < 0 {
		return text, errEvent
	}
	if id != "" {
		text = append(append(append(text, "id: "...), id...), '\n')
	}
	if event != "" {
		text = append(append(append(text, "event: "...), event...), '\n')
	}
	if retry > 0 {
		text = append(strconv.AppendInt(append(text, "retry: "...), retry.Milliseconds(), 10), '\n')
	}
	return appendData(text, data), nil
}

// appendObject appends an event as the JSON object that its schema describes.
func appendObject(text []byte, id, event string, retry time.Duration, data []byte) []byte {
	text = appendString(append(text, `{"data":`...), data)
	if event != "" {
		text = appendString(append(text, `,"event":`...), event)
	}
	if id != "" {
		text = appendString(append(text, `,"id":`...), id)
	}
	if retry > 0 {
		text = strconv.AppendInt(append(text, `,"retry":`...), retry.Milliseconds(), 10)
	}
	return append(text, '}')
}

// appendString appends a text as a JSON string. Unlike package encoding/json, it escapes only what it must.
func appendString[T string | []byte](text []byte, value T) []byte {
	text = append(text, '"')
	start := 0
	for i := range len(value) {
		c := value[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		text = append(text, value[start:i]...)
		if start = i + 1; c >= ' ' {
			text = append(text, '\\', c)
		} else {
			const digits = "0123456789abcdef"
			text = append(text, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(text, value[start:]...), '"')
}
