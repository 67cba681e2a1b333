package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// maxStreams is how many streams a user may have open.
	maxStreams = 32
	// keepAlive is how long a stream may be silent, so that nobody takes it for dead.
	keepAlive     = 15 * time.Second
	streamTimeout = 30 * time.Second // of a write
)

// errLast is returned by a rendering after which nothing changes.
var errLast = errors.New("console: nothing changes any more")

// stream sends a part of a page, and again whenever it has changed, as events named state. The first
// event is the state of now, so a page that was cut off misses nothing. It ends with an event named done after the last
// rendering and with the session; a page that is cut off otherwise asks again.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, s session, render func(context.Context) ([]byte, error)) error {
	if !c.streams.begin(s.ID) {
		return &server.Error{Status: http.StatusTooManyRequests, Detail: "Too many pages are open.", RetryAfter: streamTimeout}
	}
	defer c.streams.end(s.ID)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // as far as the connection can
	streamHeader(w)
	ticker := time.NewTicker(c.cfg.Poll)
	defer ticker.Stop()
	var last []byte
	var sent time.Time
	for {
		part, err := c.next(r, s, render)
		var text []byte
		switch {
		case err != nil && !errors.Is(err, errLast):
			// The database may be away for a while.
		case !bytes.Equal(part, last):
			text, last = event("state", part), part
		case time.Since(sent) > keepAlive:
			text = []byte(":\n\n")
		}
		if errors.Is(err, errLast) {
			text = append(text, event("done", nil)...)
		}
		if len(text) > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(streamTimeout))
			if _, err := w.Write(text); err != nil {
				return nil
			}
			_ = control.Flush()
			sent = time.Now()
		}
		if errors.Is(err, errLast) {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-c.stopped:
			return nil
		case <-ticker.C:
		}
	}
}

// next renders for who is still signed in.
func (c *Console) next(r *http.Request, s session, render func(context.Context) ([]byte, error)) ([]byte, error) {
	_, err := c.cfg.Studio.Session(r.Context(), s.token)
	if errors.Is(err, studio.ErrUnauthorized) {
		part, err := c.part("signed-out", nil)
		return part, errors.Join(err, errLast)
	}
	if err != nil {
		return nil, err
	}
	return render(r.Context())
}

func streamHeader(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "retry: 1000\n\n")
}

// endStream ends a stream that has no one to read it.
func endStream(w http.ResponseWriter) {
	streamHeader(w)
	_, _ = w.Write(event("done", nil))
}

// event is one server-sent event.
func event(name string, data []byte) []byte {
	text := append([]byte("event: "), name...)
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n")) // each ends a line of a stream
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		text = append(append(text, "\ndata: "...), line...)
	}
	return append(text, "\n\n"...)
}
