package stream

import (
	"fmt"
	"io"
	"mime"
)

// Writer writes a body item by item: the request of a client, or what a proxy or a test makes of a response. It is not
// safe for concurrent use. [Send] writes the responses of a server.
type Writer struct {
	framing

	to   io.Writer
	text []byte
}

// NewWriter returns a Writer of a body with a media type, as in the header Content-Type. It returns [ErrMalformed] if
// the media type is not that of a stream, or has no boundary.
func NewWriter(to io.Writer, contentType string) (*Writer, error) {
	w := &Writer{to: to}
	var err error
	w.framing, err = framingOf(contentType)
	return w, err
}

// Write writes an item. Fields that the format does not have are ignored.
func (w *Writer) Write(f Frame) (err error) {
	if w.format == Events {
		w.text, err = appendEvent(w.text[:0], f)
	} else {
		w.text = w.append(w.text[:0], f.Data)
	}
	if err == nil {
		_, err = w.to.Write(w.text)
	}
	return err
}

// Close writes the end of the body. It does not close the destination.
func (w *Writer) Close() error {
	_, err := w.to.Write(w.closing(nil))
	return err
}

// framingOf returns the framing of a media type.
func framingOf(contentType string) (f framing, err error) {
	var ok bool
	if f.format, ok = FormatOf(contentType); !ok {
		return f, fmt.Errorf("%w: it is not that of a stream", ErrMalformed)
	}
	if f.format == Mixed {
		_, parameters, _ := mime.ParseMediaType(contentType)
		if f.boundary = parameters["boundary"]; f.boundary == "" {
			return f, fmt.Errorf("%w: it has no boundary", ErrMalformed)
		}
	}
	return f, nil
}
