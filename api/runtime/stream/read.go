package stream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Errors of a [Reader].
var (
	// ErrTruncated reports that the body ends within an item.
	ErrTruncated = errors.New("stream: the body ends within an item")

	// ErrTooLarge reports an item that is larger than the limit of the Reader.
	ErrTooLarge = errors.New("stream: an item is too large")

	// ErrMalformed reports a media type that is not that of a stream.
	ErrMalformed = errors.New("stream: the media type is not that of a stream")
)

// around is how much longer than an item its line may be, for "data: " and the end of the line.
const around = 8

// Reader reads the items of a body as they arrive. It does not decode them. It is not safe for concurrent use.
type Reader struct {
	next func() (Frame, error)
	err  error // of the last Next
	max  int   // bytes of an item
	item []byte

	body   *bufio.Reader
	text   []byte // the current line
	cr     bool   // whether CR ends a line, as LF does
	skipLF bool   // a CR ended the last line
	begun  bool   // the first line was read

	id, event []byte
	lastID    []byte // nil if no event has set it
	retry     time.Duration
}

// Frame is an item of a body. ID, Event and Data are valid until the next call of Next.
type Frame struct {
	// ID, Event and Retry are the fields of a server-sent event. They are zero if the event does not have them,
	// and in all other formats.
	ID, Event []byte
	Retry     time.Duration

	// Data is the item without its separators.
	Data []byte
}

// Problem returns the problem document of an item with which the service may have ended the stream, or nil. That is the
// data of an event with the type "error", or the member "error" of an object without other members. Other items may
// have this form as well.
func (f *Frame) Problem() []byte {
	if string(f.Event) == "error" {
		return f.Data
	}
	if !bytes.HasPrefix(f.Data, []byte(`{"error":{`)) {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(f.Data, &members) != nil || len(members) > 1 {
		return nil
	}
	return members["error"]
}

// NewReader returns a Reader of a body with a media type, as in the header Content-Type. The data of an item is limited
// to limit bytes, and so is every other line.
//
// NewReader returns [ErrMalformed] if the media type is not that of a stream.
func NewReader(body io.Reader, contentType string, limit int) (*Reader, error) {
	r := &Reader{body: bufio.NewReader(body), max: limit}
	format, ok := FormatOf(contentType)
	if !ok {
		return nil, ErrMalformed
	}
	r.next = r.nextLine
	if format == Events {
		r.next, r.cr = r.nextEvent, true
	}
	return r, nil
}

// Next returns the next item. It returns [io.EOF] after the last item of a body whose items are all complete. Other
// errors are those of this package and of the body. Every later call returns the same error.
//
// It allocates memory only for an item that is larger than all earlier ones.
func (r *Reader) Next() (frame Frame, err error) {
	if r.err == nil {
		frame, r.err = r.next()
		if r.err == nil && len(frame.Data) > r.max {
			r.err = ErrTooLarge
		}
	}
	if r.err != nil {
		return Frame{}, r.err
	}
	return frame, nil
}

// nextLine returns the next line that is not blank. The last line may lack its end.
func (r *Reader) nextLine() (Frame, error) {
	for {
		line, err := r.line()
		line = bytes.TrimSpace(line)
		switch {
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return Frame{}, err
		case err != nil && !complete(line):
			return Frame{}, ErrTruncated
		case len(line) > 0:
			return Frame{Data: line}, nil
		}
	}
}

// complete reports whether a text that has no separator after it is complete. A number may lack its last digits.
func complete(text []byte) bool {
	return len(text) > 0 && bytes.IndexByte([]byte(`}]"`), text[len(text)-1]) >= 0 && json.Valid(text)
}

// line returns the next line without its end. With an error it returns the rest of the body.
func (r *Reader) line() (line []byte, err error) {
	r.text = r.text[:0]
	for ended := false; !ended && err == nil; {
		if _, err = r.body.Peek(1); err == nil { // waits until more has arrived
			ended = r.readLine()
		}
		if len(r.text) > r.max+around {
			err = ErrTooLarge
		}
	}
	line = r.text
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, err
}

// readLine appends what has arrived of the current line to its text. It reports whether the line has ended.
func (r *Reader) readLine() (ended bool) {
	arrived, _ := r.body.Peek(r.body.Buffered())
	rest := arrived
	if r.skipLF {
		rest = bytes.TrimPrefix(arrived, []byte{'\n'})
	}
	var end int
	if r.cr {
		end = lineEnd(rest)
	} else {
		end = bytes.IndexByte(rest, '\n')
	}
	if ended = end >= 0; !ended {
		end = len(rest)
	}
	r.skipLF = ended && rest[end] == '\r'
	r.text, rest = append(r.text, rest[:end]...), rest[min(end+1, len(rest)):]
	_, _ = r.body.Discard(len(arrived) - len(rest)) // which is there
	return ended
}
