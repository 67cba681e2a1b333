package stream

import (
	"bytes"
	"errors"
	"io"
)

// partState is where a Reader is in multipart/mixed.
type partState int

const (
	inPreamble partState = iota
	inHeader
	inBody
	inEpilogue
)

// nextPart returns the body of the next part. It ignores the headers. See section 5.1 of RFC 2046.
func (r *Reader) nextPart() (Frame, error) {
	r.item = r.item[:0]
	for r.part != inEpilogue {
		line, err := r.line(false)
		if err != nil && !errors.Is(err, io.EOF) {
			return Frame{}, err
		}
		after, delimits := bytes.CutPrefix(line, r.delimiter)
		after = bytes.TrimRight(after, " \t\r")
		before := r.part
		switch {
		case delimits && string(after) == "--":
			r.part = inEpilogue
		case err != nil:
			return Frame{}, ErrTruncated
		case delimits && len(after) == 0:
			r.part = inHeader
		case before == inHeader && string(bytes.TrimSpace(line)) == "":
			r.part = inBody
		case before == inHeader && bytes.IndexByte(line, ':') < 0:
			return Frame{}, ErrMalformed
		case before == inBody && len(r.item)+len(line) > r.max+around:
			return Frame{}, ErrTooLarge
		case before == inBody:
			r.item = append(append(r.item, line...), '\n')
		}
		if before == inBody && r.part != inBody {
			return Frame{Data: bytes.TrimSpace(r.item)}, nil
		}
	}
	return Frame{}, io.EOF
}
