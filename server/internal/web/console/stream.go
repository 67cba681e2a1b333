package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// silentPolls is after how many PollIntervals without an event a page is rendered. Nothing else tells about a deletion
// and the creation of a video.
const silentPolls = 15

// errFinal is returned with the last rendering of a stream.
var errFinal = errors.New("console: no further changes")

// liveFragment renders a fragment of a page that changes with the events of the user. If next is not zero, it also
// changes then.
type liveFragment func(ctx context.Context) (fragment []byte, next time.Time, err error)

// stream sends a fragment as a server-sent event named state, at first and after each change. It ends with an event
// named done when render returns errFinal, and when the session ends. A browser reconnects to a stream that ends
// otherwise, and misses nothing, because the first event is the current state.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, s session, render liveFragment) error {
	opened, r, stop := stream.Open(w, r)
	defer stop()
	ctx := r.Context()
	changed, err := c.cfg.Studio.Changes(ctx, s.ID)
	if err != nil {
		return err
	}
	send(opened, func(yield func(name, data string) bool) {
		var last [sha256.Size]byte // a hash, because a stream may be open for long
		for {
			began := time.Now()
			fragment, next, err := c.renderInSession(ctx, s, render)
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
			wait := silentPolls * c.cfg.PollInterval
			if err != nil || !next.IsZero() {
				wait = min(wait, next.Sub(began))
			}
			if !c.await(ctx, changed, func() bool {
				return time.Since(began) >= wait || c.cfg.Revoked(s.id)
			}) {
				return
			}
		}
	})
	return nil
}

// await waits for an event or until due returns true, but at least one PollInterval. It returns false if ctx has
// ended.
func (c *Console) await(ctx context.Context, changed <-chan struct{}, due func() bool) bool {
	ticker := time.NewTicker(c.cfg.PollInterval)
	defer ticker.Stop()
	for again := false; ; {
		select {
		case <-ctx.Done():
			return false
		case <-changed:
			again = true
		case <-ticker.C:
			if again || due() {
				return true
			}
		}
	}
}

// send sends the events that events yields. A browser whose stream ends without an event named done reconnects after a
// second.
func send(w http.ResponseWriter, events func(yield func(name, data string) bool)) {
	// The only error is that of a shutdown, of which a browser needs no description.
	_ = stream.SendEvents(w, http.StatusOK, "text/event-stream", func(yield func(stream.Event[string], error) bool) {
		events(func(name, data string) bool {
			return yield(stream.Event[string]{Event: name, Data: data, Retry: time.Second}, nil)
		})
	}, nil)
}

// renderInSession calls render if the session is still valid. If not, it returns a notice and errFinal.
func (c *Console) renderInSession(ctx context.Context, s session, render liveFragment) (fragment []byte, next time.Time, err error) {
	_, _, err = c.cfg.Studio.Session(ctx, s.token)
	if errors.Is(err, studio.ErrUnauthorized) {
		fragment, err = c.renderFragment("signed-out", nil)
		return fragment, next, errors.Join(err, errFinal)
	}
	if err != nil {
		return nil, next, err
	}
	return render(ctx)
}

// endStream serves a stream that ends at once, and to which browsers do not reconnect.
func endStream(w http.ResponseWriter, r *http.Request) {
	opened, _, stop := stream.Open(w, r)
	defer stop()
	send(opened, func(yield func(name, data string) bool) { yield("done", "") })
}
