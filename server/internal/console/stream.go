package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/api/stream"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// maxStreams bounds the open streams of a user.
const maxStreams = 32

// errFinal is returned with the last rendering of a stream.
var errFinal = errors.New("console: no further changes")

// stream sends a fragment of a page as a server-sent event named state, at first and after each change. It ends
// with an event named done when render returns errFinal, and when the session ends. A browser reconnects to a
// stream that ends otherwise, and misses nothing, because the first event is the current state.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, s session, render func(context.Context) ([]byte, error)) error {
	if !c.streams.acquire(s.ID) {
		return &server.Error{Status: http.StatusTooManyRequests, Detail: "Too many pages are open.", RetryAfter: stream.WriteTimeout}
	}
	defer c.streams.release(s.ID)
	w, r, stop := stream.Open(w, r)
	defer stop()
	ctx := r.Context()
	send(w, func(yield func(name, data string) bool) {
		ticker := time.NewTicker(c.cfg.PollInterval)
		defer ticker.Stop()
		var last [sha256.Size]byte // a hash, because a stream may be open for long
		for {
			fragment, err := c.renderInSession(ctx, s, render)
			final := errors.Is(err, errFinal)
			if hash := sha256.Sum256(fragment); (err == nil || final) && hash != last { // the database may be unavailable for a while
				if last = hash; !yield("state", string(fragment)) {
					return
				}
			}
			if final {
				yield("done", "")
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return nil
}

// send sends the events that events yields. A browser whose stream ends without an event named done reconnects after a second.
func send(w http.ResponseWriter, events func(yield func(name, data string) bool)) {
	// The only error is that of a shutdown, of which a browser needs no description.
	_ = stream.SendEvents(w, http.StatusOK, "text/event-stream", func(yield func(stream.Event[string], error) bool) {
		events(func(name, data string) bool {
			return yield(stream.Event[string]{Event: name, Data: data, Retry: time.Second}, nil)
		})
	}, nil)
}

// renderInSession calls render if the session is still valid. If not, it returns a notice and errFinal.
func (c *Console) renderInSession(ctx context.Context, s session, render func(context.Context) ([]byte, error)) ([]byte, error) {
	_, err := c.cfg.Studio.Session(ctx, s.token)
	if errors.Is(err, studio.ErrUnauthorized) {
		fragment, err := c.renderFragment("signed-out", nil)
		return fragment, errors.Join(err, errFinal)
	}
	if err != nil {
		return nil, err
	}
	return render(ctx)
}

// endStream serves a stream that ends at once, and to which browsers do not reconnect.
func endStream(w http.ResponseWriter) {
	send(w, func(yield func(name, data string) bool) { yield("done", "") })
}
