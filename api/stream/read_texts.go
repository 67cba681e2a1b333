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
	depth, quoted, escaped := 0, false, false
	for {
		if r.start == r.end {
			switch err := r.fill(); {
			case errors.Is(err, io.EOF) && len(r.item) > 0:
				return r.lastText()
			case err != nil:
				return Frame{}, err
			}
		}
		c := r.buffer[r.start]
		r.start++
		space := c == ' ' || c == '\t' || c == '\n' || c == '\r'
		switch {
		case c == recordSeparator && len(r.item) > 0:
			return r.lastText()
		case c == recordSeparator:
			r.separated = true
			continue
		case len(r.item) == 0 && space:
			continue
		case !r.separated:
			return Frame{}, ErrMalformed
		case len(r.item) > r.max:
			return Frame{}, ErrTooLarge
		}
		r.item = append(r.item, c)
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		case c == '\n' && depth <= 0:
			r.separated = false
			return Frame{Data: bytes.TrimSpace(r.item)}, nil
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
