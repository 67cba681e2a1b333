package stream

import (
	"bufio"
	"bytes"
	"cmp"
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

	lines  *bufio.Scanner // which splits the body by the method split
	cr     bool           // whether CR ends a line, as LF does
	skipLF bool           // a CR ended the last line
	atEnd  bool           // the last line has no end
	begun  bool           // the first line was read
	// There is no LF before nextLF in the bytes that are not read, and no CR before nextCR, so that no byte is searched
	// twice.
	nextLF, nextCR int

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
	r := &Reader{lines: bufio.NewScanner(body), max: limit}
	r.lines.Buffer(nil, limit+2*around)
	r.lines.Split(r.split)
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
	if r.lines.Scan() {
		line = r.lines.Bytes()
	}
	if line == nil || r.atEnd {
		if err = cmp.Or(r.lines.Err(), io.EOF); errors.Is(err, bufio.ErrTooLong) {
			err = ErrTooLarge
		}
	}
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, err
}

// split is the [bufio.SplitFunc] of lines.
func (r *Reader) split(data []byte, atEnd bool) (advance int, line []byte, err error) {
	skipped := 0
	if r.skipLF && len(data) > 0 {
		if r.skipLF = false; data[0] == '\n' {
			skipped, data = 1, data[1:]
		}
	}
	r.nextLF, r.nextCR = r.nextLF-skipped, r.nextCR-skipped
	r.nextLF = find('\n', data, r.nextLF)
	end := r.nextLF
	if r.cr {
		r.nextCR = find('\r', data[:end], r.nextCR)
		end = r.nextCR
	}
	switch {
	case end > r.max+around:
		return 0, nil, ErrTooLarge
	case end < len(data):
		r.skipLF = data[end] == '\r'
		advance = end + 1
	case atEnd && end > 0:
		r.atEnd, advance = true, end
	}
	r.nextLF, r.nextCR = r.nextLF-advance, r.nextCR-advance
	if advance > 0 {
		line = data[:end]
	}
	return skipped + advance, line, nil
}

// find returns the index of the first c in data, or its length. There is none before from.
func find(c byte, data []byte, from int) int {
	from = max(from, 0)
	if i := bytes.IndexByte(data[min(from, len(data)):], c); i >= 0 {
		return from + i
	}
	return len(data)
}
