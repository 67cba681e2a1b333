package stream

import (
	"fmt"
	"io"
)

// Writer writes a body item by item, as a proxy or a test makes it of a response. It is not safe for concurrent use.
// [Send] writes the responses of a server.
type Writer struct {
	format Format
	to     io.Writer
	text   []byte
}

// NewWriter returns a Writer of a body with a media type, as in the header Content-Type. It returns [ErrMalformed] if
// the media type is not that of a stream.
func NewWriter(to io.Writer, contentType string) (*Writer, error) {
	format, err := formatOf(contentType)
	return &Writer{format: format, to: to}, err
}

// Write writes an item. Fields that the format does not have are ignored.
func (w *Writer) Write(f Frame) (err error) {
	if w.format == Events {
		w.text, err = appendEvent(w.text[:0], f)
	} else {
		w.text = w.format.append(w.text[:0], f.Data)
	}
	if err == nil {
		_, err = w.to.Write(w.text)
	}
	return err
}

// formatOf returns the format of a media type, or [ErrMalformed].
func formatOf(contentType string) (Format, error) {
	format, ok := FormatOf(contentType)
	if !ok {
		return 0, fmt.Errorf("%w: it is not that of a stream", ErrMalformed)
	}
	return format, nil
}
