package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// maxStreams bounds the open streams of a user.
	maxStreams = 32
	// writeTimeout bounds a write to a stream.
	writeTimeout = 30 * time.Second
)

// errFinal is returned with the last rendering of a stream.
var errFinal = errors.New("console: no further changes")

// stream sends a fragment of a page as a server-sent event named state, at first and after each change. It ends
// with an event named done when render returns errFinal, and when the session ends. A browser reconnects to a
// stream that ends otherwise, and misses nothing, because the first event is the current state.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, s session, render func(context.Context) ([]byte, error)) error {
	if !c.streams.acquire(s.ID) {
		return &server.Error{Status: http.StatusTooManyRequests, Detail: "Too many pages are open.", RetryAfter: writeTimeout}
	}
	defer c.streams.release(s.ID)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // not every connection supports it
	startStream(w)
	ticker := time.NewTicker(c.cfg.PollInterval)
	defer ticker.Stop()
	var last [sha256.Size]byte // a hash, because a stream may be open for long
	var sent time.Time
	for {
		fragment, err := c.renderInSession(r, s, render)
		var text []byte
		switch ok := err == nil || errors.Is(err, errFinal); { // the database may be unavailable for a while
		case ok && sha256.Sum256(fragment) != last:
			text, last = event("state", fragment), sha256.Sum256(fragment)
		case time.Since(sent) > c.cfg.KeepAlive:
			text = []byte(":\n\n")
		}
		if errors.Is(err, errFinal) {
			text = append(text, event("done", nil)...)
		}
		if len(text) > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := w.Write(text); err != nil {
				return nil
			}
			_ = control.Flush()
			sent = time.Now()
		}
		if errors.Is(err, errFinal) {
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

// renderInSession calls render if the session is still valid. If not, it returns a notice and errFinal.
func (c *Console) renderInSession(r *http.Request, s session, render func(context.Context) ([]byte, error)) ([]byte, error) {
	_, err := c.cfg.Studio.Session(r.Context(), s.token)
	if errors.Is(err, studio.ErrUnauthorized) {
		fragment, err := c.renderFragment("signed-out", nil)
		return fragment, errors.Join(err, errFinal)
	}
	if err != nil {
		return nil, err
	}
	return render(r.Context())
}

// startStream writes the header, and the delay in milliseconds after which browsers reconnect.
func startStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "retry: 1000\n\n")
}

// endStream serves a stream that ends at once, and to which browsers do not reconnect.
func endStream(w http.ResponseWriter) {
	startStream(w)
	_, _ = w.Write(event("done", nil))
}

// event encodes a server-sent event.
func event(name string, data []byte) []byte {
	text := append([]byte("event: "), name...)
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n")) // a CR also ends a line
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		text = append(append(text, "\ndata: "...), line...)
	}
	return append(text, "\n\n"...)
}
