package stream

import (
	"bytes"
	"errors"
	"iter"
	"net/http"
	"strconv"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
)

var errEvent = errors.New("stream: the id or type of an event has a line break or NUL, or its delay is negative")

// SendEvents sends server-sent events like [Send]. The data is text if T is string, and JSON otherwise.
func SendEvents[T any](to http.ResponseWriter, status int, mediaType string, events iter.Seq2[Event[T], error], headers func(http.Header) error) error {
	var id, kind []byte
	return send(to, status, mediaType, events, headers, func(w *response, event *Event[T]) (err error) {
		if event.IDOnly {
			w.text, err = appendID(w.text[:0], []byte(event.ID))
			w.text = append(w.text, '\n')
			return err
		}
		frame := Frame{Retry: event.Retry}
		if event.ID != "" {
			id = append(id[:0], event.ID...)
			frame.ID = id
		}
		if event.Event != "" {
			kind = append(kind[:0], event.Event...)
			frame.Event = kind
		}
		if text, ok := any(&event.Data).(*string); ok {
			w.item = append(w.item[:0], *text...)
		} else {
			w.item, err = encode.Append(w.item[:0], &event.Data)
		}
		if frame.Data = w.item; err == nil {
			err = w.check(frame)
		}
		return err
	})
}

// appendEvent appends an event.
func appendEvent(text []byte, f Frame) ([]byte, error) {
	if lineEnd(f.Event) >= 0 || f.Retry < 0 {
		return text, errEvent
	}
	if f.ID != nil {
		var err error
		if text, err = appendID(text, f.ID); err != nil {
			return text, err
		}
	}
	if f.Event != nil {
		text = append(append(append(text, "event: "...), f.Event...), '\n')
	}
	if f.Retry > 0 {
		text = append(strconv.AppendInt(append(text, "retry: "...), f.Retry.Milliseconds(), 10), '\n')
	}
	return appendData(text, f.Data), nil
}

// appendID appends the id of an event.
func appendID(text, id []byte) ([]byte, error) {
	if lineEnd(id) >= 0 || bytes.IndexByte(id, 0) >= 0 {
		return text, errEvent
	}
	return append(append(append(text, "id: "...), id...), '\n'), nil
}
