package stream

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// LastID returns the id with which a client resumes after the last event, as the header Last-Event-ID. It is that of
// the last event with an id, which may have had no data. It returns false if there was none.
func (r *Reader) LastID() (id string, ok bool) { return string(r.lastID), r.lastID != nil }

// Retry returns the last time to wait before reconnecting that the body has set, or zero.
func (r *Reader) Retry() time.Duration { return r.retry }

// nextEvent returns the next event that has data. See "Interpreting an event stream" in the HTML Living Standard.
func (r *Reader) nextEvent() (frame Frame, err error) {
	r.item, r.id = r.item[:0], r.id[:0]
	begun, hasID, hasData := false, false, false
	for {
		line, err := r.line()
		switch {
		case errors.Is(err, io.EOF) && (begun || len(line) > 0):
			return frame, ErrTruncated
		case err != nil:
			return frame, err
		case len(line) == 0:
			if hasID {
				r.lastID = append(r.lastID[:0], r.id...)
				if r.lastID == nil {
					r.lastID = []byte{}
				}
			}
			if hasData {
				frame.Data = r.item[:len(r.item)-1] // without the last LF
				if !utf8.Valid(frame.Data) {
					frame.Data = bytes.ToValidUTF8(frame.Data, []byte("\ufffd"))
				}
				return frame, nil
			}
			frame, begun, hasID = Frame{}, false, false
			continue
		case line[0] == ':':
			continue
		}
		begun = true
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if hasData = true; len(r.item)+len(value) > r.max {
				return frame, ErrTooLarge
			}
			r.item = append(append(r.item, value...), '\n')
		case "event":
			r.event = append(r.event[:0], value...)
			frame.Event = r.event
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				r.id, hasID = append(r.id[:0], value...), true
				frame.ID = r.id
			}
		case "retry":
			if retry, ok := milliseconds(value); ok {
				r.retry, frame.Retry = retry, retry
			}
		}
	}
}

// milliseconds parses ASCII digits. A number that is too large counts as 24 days.
func milliseconds(digits []byte) (time.Duration, bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(string(digits), 10, 31)
	if err != nil {
		n = math.MaxInt32
	}
	return time.Duration(n) * time.Millisecond, len(digits) > 0
}
