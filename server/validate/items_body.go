package validate

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// itemsBody is a stream whose items are checked while they are read. Each item is checked as a whole before its first
// byte is returned.
type itemsBody struct {
	items  *Items
	reader *stream.Reader
	limit  int64
	out    bytes.Buffer // data to return before the next item
	err    error        // returned after out
}

func newItemsBody(w *checker, c *content, body io.Reader, limit int64) (*itemsBody, error) {
	reader, err := stream.NewReader(body, c.media, int(limit))
	return &itemsBody{items: newItems(w, c, http.StatusBadRequest, mismatch), reader: reader, limit: limit}, err
}

// next returns the next item, which is valid until the next call.
func (b *itemsBody) next() (stream.Frame, error) {
	if b.err != nil {
		return stream.Frame{}, b.err
	}
	item, err := b.reader.Next()
	if err == nil {
		err = b.items.Check(item)
	}
	switch {
	case err == nil:
		return item, nil
	case errors.Is(err, io.EOF):
		b.err = io.EOF
	case errors.Is(err, stream.ErrTooLarge):
		b.err = tooLargeFor("An item of the body", b.limit)
	case errors.Is(err, stream.ErrTruncated):
		b.err = &Error{Status: http.StatusBadRequest, Detail: "The body is not valid " + b.items.content.media + "."}
	default:
		b.err = unreadable(err)
	}
	return stream.Frame{}, b.err
}

func (b *itemsBody) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		item, err := b.next()
		text := b.out.AvailableBuffer()
		if err == nil {
			text, err = b.items.content.format.Append(text, item)
		}
		if err != nil {
			return 0, err
		}
		b.out.Write(text)
	}
	return b.out.Read(p)
}

func (b *itemsBody) Close() error {
	b.out, b.err = bytes.Buffer{}, http.ErrBodyReadAfterClose
	return nil
}
