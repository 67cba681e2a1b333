package validate

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// itemsBody is a stream whose items are checked while they are read. Each item is checked as a whole before its first
// byte is returned.
type itemsBody struct {
	items  *Items
	reader *stream.Reader
	media  string
	format stream.Format
	limit  int64
	writer *stream.Writer // to out
	out    bytes.Buffer   // data to return before the next item
	err    error          // returned after out
}

func newItemsBody(w *checker, c *content, body io.Reader, limit int64) (*itemsBody, error) {
	b := &itemsBody{items: newItems(w, c, http.StatusBadRequest, mismatch), media: c.media, format: c.format, limit: limit}
	var err error
	if b.reader, err = stream.NewReader(body, c.media, int(limit)); err == nil {
		b.writer, err = stream.NewWriter(&b.out, c.media)
	}
	return b, err
}

// next returns the next item, which is valid until the next call.
func (b *itemsBody) next() (stream.Frame, error) {
	if b.err != nil {
		return stream.Frame{}, b.err
	}
	item, err := b.reader.Next()
	if err == nil {
		err = b.check(item)
	}
	switch {
	case err == nil:
		return item, nil
	case errors.Is(err, io.EOF):
		b.err = io.EOF
	case errors.Is(err, stream.ErrTooLarge):
		b.err = tooLargeFor("An item of the body", b.limit)
	case errors.Is(err, stream.ErrTruncated), errors.Is(err, stream.ErrMalformed):
		b.err = &Error{Status: http.StatusBadRequest, Detail: "The body is not valid " + b.media + "."}
	default:
		b.err = unreadable(err)
	}
	return stream.Frame{}, b.err
}

func (b *itemsBody) check(item stream.Frame) error {
	if b.format != stream.Events {
		return b.items.Check(item.Data)
	}
	if !utf8.Valid(item.Event) || !utf8.Valid(item.ID) {
		return stream.ErrMalformed
	}
	return b.items.CheckEvent(item)
}

// appendEvent appends the JSON of a server-sent event.
func appendEvent(dst []byte, event stream.Frame) []byte {
	dst = append(dst, `{"data":`...)
	dst, _ = jsontext.AppendQuote(dst, event.Data) // the texts are valid UTF-8
	if event.Event != nil {
		dst, _ = jsontext.AppendQuote(append(dst, `,"event":`...), event.Event)
	}
	if event.ID != nil {
		dst, _ = jsontext.AppendQuote(append(dst, `,"id":`...), event.ID)
	}
	if event.Retry > 0 {
		dst = strconv.AppendInt(append(dst, `,"retry":`...), event.Retry.Milliseconds(), 10)
	}
	return append(dst, '}')
}

// sequenceJSON converts a sequence in memory to a JSON array. If it is malformed, it returns nil.
func (w *checker) sequenceJSON(c *content, body []byte) []byte {
	reader, err := stream.NewReader(bytes.NewReader(body), c.media, len(body))
	array := []byte{'['}
	for err == nil {
		var item stream.Frame
		if item, err = reader.Next(); err != nil {
			break
		}
		if len(array) > 1 {
			array = append(array, ',')
		}
		start := len(array)
		if c.format == stream.Events {
			array = appendEvent(array, item)
		} else {
			array = append(array, item.Data...)
		}
		if !w.IsJSON(array[start:]) {
			err = stream.ErrMalformed
		}
	}
	if !errors.Is(err, io.EOF) {
		w.Malformed = "The body is not valid " + c.media + "."
		return nil
	}
	return append(array, ']')
}

func (b *itemsBody) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		item, err := b.next()
		if err == nil {
			err = b.writer.Write(item)
		}
		if err != nil {
			return 0, err
		}
	}
	return b.out.Read(p)
}

func (b *itemsBody) Close() error {
	b.out, b.err = bytes.Buffer{}, http.ErrBodyReadAfterClose
	return nil
}
