package clienttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// maxItem limits the items that a fault can change.
const maxItem = 16 << 20

// CutAfter closes the connection of a stream after n items. Like the other faults for streams, it leaves other
// responses unchanged.
func CutAfter(n int) Fault {
	return items(func(_ context.Context, seen int, item stream.Frame, send func(stream.Frame)) bool {
		if seen <= n {
			send(item)
		}
		return seen < n
	})
}

// StallAfter sends n items of a stream, and then nothing, not even comments, until the client disconnects or the test
// ends.
func StallAfter(n int) Fault {
	return items(func(ctx context.Context, seen int, item stream.Frame, send func(stream.Frame)) bool {
		if seen <= n {
			send(item)
		}
		if seen < n {
			return true
		}
		<-ctx.Done()
		return false
	})
}

// DuplicateItem sends item n of a stream twice. The first item is 1.
func DuplicateItem(n int) Fault {
	return items(func(_ context.Context, seen int, item stream.Frame, send func(stream.Frame)) bool {
		send(item)
		if seen == n {
			send(item)
		}
		return true
	})
}

// WrongItem replaces the data of item n of a stream by JSON of another type. The first item is 1.
func WrongItem(n int) Fault {
	return items(func(_ context.Context, seen int, item stream.Frame, send func(stream.Frame)) bool {
		if seen == n {
			item.Data = []byte("[[null]]")
		}
		send(item)
		return true
	})
}

// SlowItems waits before each item of a stream.
func SlowItems(wait time.Duration) Fault {
	return items(func(ctx context.Context, _ int, item stream.Frame, send func(stream.Frame)) bool {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			send(item)
			return true
		case <-ctx.Done():
			return false
		}
	})
}

// items returns a fault that calls change for each item of a stream, with its number. If change returns false, the
// connection is closed.
func items(change func(ctx context.Context, n int, item stream.Frame, send func(stream.Frame)) bool) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			c := &changer{ResponseWriter: w, ctx: ctx, cancel: cancel, change: change}
			next.ServeHTTP(c, r.WithContext(ctx))
			if c.pipe != nil {
				_ = c.pipe.Close()
				if !<-c.complete {
					panic(http.ErrAbortHandler)
				}
			}
		})
	}
}

// changer is the ResponseWriter of a stream whose items are changed. Another goroutine reads what is written to it.
type changer struct {
	http.ResponseWriter
	ctx    context.Context //nolint:containedctx // of the request
	cancel context.CancelFunc
	change func(context.Context, int, stream.Frame, func(stream.Frame)) bool

	pipe     *io.PipeWriter // nil if the response is not a stream
	complete chan bool      // receives whether the response came to its end
}

// WriteHeader starts the goroutine if the response is a stream.
func (c *changer) WriteHeader(status int) {
	c.ResponseWriter.WriteHeader(status)
	contentType := c.Header().Get("Content-Type")
	to, err := stream.NewWriter(c.ResponseWriter, contentType)
	if err != nil || c.pipe != nil {
		return
	}
	var body *io.PipeReader
	body, c.pipe = io.Pipe()
	c.complete = make(chan bool, 1)
	go func() {
		c.complete <- c.copy(body, to, contentType)
		c.cancel()
		_ = body.CloseWithError(http.ErrAbortHandler)
	}()
}

// copy copies the items of body. It returns false if the connection must be closed.
func (c *changer) copy(body io.Reader, to *stream.Writer, contentType string) bool {
	control := http.NewResponseController(c.ResponseWriter)
	from, err := stream.NewReader(body, contentType, maxItem)
	send := func(item stream.Frame) {
		_ = to.Write(item) // the client may have disconnected
		_ = control.Flush()
	}
	_ = control.Flush()
	for n := 1; err == nil; n++ {
		var item stream.Frame
		if item, err = from.Next(); err == nil && !c.change(c.ctx, n, item, send) {
			return false
		}
	}
	return errors.Is(err, io.EOF)
}

// Write writes to the goroutine.
func (c *changer) Write(text []byte) (int, error) {
	if c.pipe == nil {
		return c.ResponseWriter.Write(text)
	}
	return c.pipe.Write(text)
}

// Flush does nothing, because each item is flushed.
func (*changer) Flush() {}

// SetWriteDeadline does nothing, because the fault may be slower than the service allows clients to be.
func (*changer) SetWriteDeadline(time.Time) error { return nil }

// Unwrap supports [http.ResponseController].
func (c *changer) Unwrap() http.ResponseWriter { return c.ResponseWriter }
