package stream

import (
	"bytes"
	"errors"
	"io"
)

// nextText returns the next text of a JSON text sequence. A text ends with the LF after its value, so that it does not
// wait for the separator of the next one.
func (r *Reader) nextText() (Frame, error) {
	r.item = r.item[:0]
	var text textScanner
	for {
		if r.start == r.end {
			switch err := r.fill(); {
			case errors.Is(err, io.EOF) && len(r.item) > 0:
				return r.lastText()
			case err != nil:
				return Frame{}, err
			}
		}
		unread := r.buffer[r.start:r.end]
		if c := unread[0]; len(r.item) == 0 {
			switch {
			case c == recordSeparator, c == ' ', c == '\t', c == '\n', c == '\r':
				r.separated = r.separated || c == recordSeparator
				r.start++
				continue
			case !r.separated:
				return Frame{}, ErrMalformed
			}
		}
		n, ends := text.scan(unread)
		r.item = append(r.item, unread[:n]...)
		r.start += n
		switch {
		case len(r.item) > r.max+around:
			return Frame{}, ErrTooLarge
		case ends && r.item[len(r.item)-1] == '\n':
			r.separated = false
			return Frame{Data: bytes.TrimSpace(r.item)}, nil
		case ends: // the separator comes next
			return r.lastText()
		}
	}
}

// lastText returns a text that no LF follows.
func (r *Reader) lastText() (Frame, error) {
	if !complete(r.item) {
		return Frame{}, ErrTruncated
	}
	return Frame{Data: bytes.TrimSpace(r.item)}, nil
}

// textScanner finds the end of a text that may arrive in parts.
type textScanner struct {
	depth           int
	quoted, escaped bool
}

// scan returns the number of bytes before a separator, or until the LF after the value of the text. It returns false if
// both are missing.
func (s *textScanner) scan(part []byte) (n int, ends bool) {
	for i, c := range part {
		switch {
		case c == recordSeparator:
			return i, true
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted = true
		case c == '{', c == '[':
			s.depth++
		case c == '}', c == ']':
			s.depth--
		case c == '\n' && s.depth <= 0:
			return i + 1, true
		}
	}
	return len(part), false
}
