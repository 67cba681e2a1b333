package stream

import (
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

	// ErrMalformed reports a body that is not in the format of its media type.
	ErrMalformed = errors.New("stream: the body is not in the format of its media type")
)

const (
	// firstBuffer is the size of the first buffer. A silent connection needs no other.
	firstBuffer = 4 << 10

	// around is how much longer than an item its line may be, for "data: " and the end of the line.
	around = 8
)

// Reader reads the items of a body as they arrive. It does not decode them. It is not safe for concurrent use.
type Reader struct {
	next func() (Frame, error)
	err  error // of the last Next
	max  int   // bytes of an item
	item []byte

	source     io.Reader
	failure    error // of source
	buffer     []byte
	start, end int  // the unread bytes of buffer
	lf, cr     int  // there is no LF in the unread bytes before lf, and no CR before cr
	skipLF     bool // a CR ended the last line
	begun      bool // the first line was read

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
	r := &Reader{source: body, max: limit}
	format, err := formatOf(contentType)
	r.next = r.nextLine
	if format == Events {
		r.next = r.nextEvent
	}
	return r, err
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
		line, err := r.line(false)
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
	text = bytes.TrimSpace(text)
	return len(text) > 0 && bytes.IndexByte([]byte(`}]"`), text[len(text)-1]) >= 0 && json.Valid(text)
}

// line returns the next line without its end, which is LF and, if cr is set, also CR or CR LF. With an error it returns
// the rest of the body.
func (r *Reader) line(cr bool) (line []byte, err error) {
	end := 0
	for {
		if r.skipLF && r.start < r.end {
			if r.skipLF = false; r.buffer[r.start] == '\n' {
				r.start++
			}
		}
		r.lf = r.find('\n', r.lf, r.end)
		if end = r.lf; cr {
			r.cr = r.find('\r', r.cr, r.lf)
			end = r.cr
		}
		line = r.buffer[r.start:end]
		if len(line) > r.max+around {
			return nil, ErrTooLarge
		}
		if end < r.end {
			r.skipLF = r.buffer[end] == '\r'
			r.start = end + 1
			break
		}
		if err = r.fill(); err != nil {
			r.start = r.end
			break
		}
	}
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, err
}

// find returns the index of the first c in the unread bytes before end, or end. There is none before from.
func (r *Reader) find(c byte, from, end int) int {
	from = max(from, r.start)
	if i := bytes.IndexByte(r.buffer[from:end], c); i >= 0 {
		return from + i
	}
	return end
}

// fill reads more bytes into the buffer.
func (r *Reader) fill() error {
	if r.start > 0 && (r.start == r.end || r.end == len(r.buffer)) {
		copy(r.buffer, r.buffer[r.start:r.end])
		r.lf, r.cr, r.end = max(0, r.lf-r.start), max(0, r.cr-r.start), r.end-r.start
		r.start = 0
	}
	if r.end == len(r.buffer) {
		grown := make([]byte, max(firstBuffer, 2*len(r.buffer)))
		copy(grown, r.buffer)
		r.buffer = grown
	}
	const most = 100 // as in package bufio
	for range most {
		if r.failure != nil {
			return r.failure
		}
		var n int
		n, r.failure = r.source.Read(r.buffer[r.end:])
		if r.end += n; n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}
