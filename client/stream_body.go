package client

import (
	"io"
	"iter"
	"sync"

	"github.com/avatarstudio/avatarstudio/api/encode"
	"github.com/avatarstudio/avatarstudio/api/stream"
)

// streamBody sets a body of items, or no body if items is nil. The items are encoded while the request is sent. Another
// goroutine ranges over them, and stops at the first item after the end of the call. The call has no timeout and no second
// attempt, because the items may take any time and may not come twice.
func streamBody[T any](c *call, contentType string, items iter.Seq2[T, error]) {
	sendItems(c, contentType, items, func(item T) (f stream.Frame, err error) {
		f.Data, err = encode.JSON(item)
		return f, err
	})
}

// streamEventBody is like streamBody for server-sent events. Data of type string is text, and other data is JSON.
func streamEventBody[T any](c *call, contentType string, events iter.Seq2[stream.Event[T], error]) {
	sendItems(c, contentType, events, func(event stream.Event[T]) (f stream.Frame, err error) {
		f.Retry = event.Retry
		if event.ID != "" {
			f.ID = []byte(event.ID)
		}
		if event.Event != "" {
			f.Event = []byte(event.Event)
		}
		if text, ok := any(event.Data).(string); ok {
			f.Data = []byte(text)
			return f, nil
		}
		f.Data, err = encode.JSON(event.Data)
		return f, err
	})
}

func sendItems[T any](c *call, contentType string, items iter.Seq2[T, error], encode func(T) (stream.Frame, error)) {
	if items == nil {
		return
	}
	contentType = stream.ContentType(contentType)
	c.items = func() io.Reader {
		body, pipe := io.Pipe()
		w, err := stream.NewWriter(pipe, contentType)
		c.fail(err)
		return &itemBody{PipeReader: body, start: sync.OnceFunc(func() {
			go func() { _ = pipe.CloseWithError(writeItems(w, items, encode)) }()
		})}
	}
	c.Reader(contentType, c.items())
}

func writeItems[T any](w *stream.Writer, items iter.Seq2[T, error], encode func(T) (stream.Frame, error)) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		f, err := encode(item)
		if err != nil {
			return err
		}
		if err := w.Write(f); err != nil {
			return err
		}
	}
	return w.Close()
}

// itemBody is a body that another goroutine writes when it is read.
type itemBody struct {
	*io.PipeReader
	start func()
}

func (b *itemBody) Read(p []byte) (int, error) {
	b.start()
	return b.PipeReader.Read(p)
}
