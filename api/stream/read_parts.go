package stream

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

// partState is where a Reader is in multipart/mixed.
type partState int

const (
	inPreamble partState = iota
	inHeader
	inBody
	afterBody // of which the length was known
	inEpilogue
)

// nextPart returns the body of the next part. A part with a Content-Length does not wait for the delimiter after it. See
// section 5.1 of RFC 2046.
func (r *Reader) nextPart() (frame Frame, err error) {
	r.item = r.item[:0]
	length := -1
	for r.part != inEpilogue {
		if r.part == inBody && length >= 0 {
			r.part = afterBody
			frame.Data, err = r.bytes(length)
			return frame, err
		}
		line, err := r.line(false)
		if err != nil && !errors.Is(err, io.EOF) {
			return frame, err
		}
		after, delimits := bytes.CutPrefix(line, r.delimiter)
		after = bytes.TrimRight(after, " \t\r")
		before := r.part
		switch {
		case delimits && string(after) == "--":
			r.part = inEpilogue
		case err != nil:
			return frame, ErrTruncated
		case delimits && len(after) == 0:
			r.part = inHeader
		case before == inHeader && len(bytes.TrimSpace(line)) == 0:
			r.part = inBody
		case before == inHeader:
			if !r.header(&frame, &length, line) {
				return frame, ErrMalformed
			}
		case before == inBody && len(r.item)+len(line) > r.max+around:
			return frame, ErrTooLarge
		case before == inBody:
			r.item = append(append(r.item, line...), '\n')
		case before == afterBody && len(bytes.TrimSpace(line)) > 0:
			return frame, ErrMalformed
		}
		if before == inBody && r.part != inBody {
			frame.Data = bytes.TrimSpace(r.item)
			return frame, nil
		}
	}
	return frame, io.EOF
}

// header reads a header of a part. It returns false if the header is malformed.
func (*Reader) header(frame *Frame, length *int, line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte{':'})
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Type")):
		frame.problem = bytes.EqualFold(value, []byte("application/problem+json"))
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.ParseUint(string(value), 10, 31)
		*length, ok = int(n), err == nil
	}
	return ok
}

// bytes returns the next n bytes.
func (r *Reader) bytes(n int) ([]byte, error) {
	if n > r.max {
		return nil, ErrTooLarge
	}
	for r.end-r.start < n {
		if err := r.fill(); errors.Is(err, io.EOF) {
			return nil, ErrTruncated
		} else if err != nil {
			return nil, err
		}
	}
	r.start += n
	return r.buffer[r.start-n : r.start], nil
}
