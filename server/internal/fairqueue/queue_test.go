package fairqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/fairqueue"
)

// large is a request size of which two users can hold one request each.
const large = 1<<20 - fairqueue.Overhead

// harness collects the requests that wait, and those that have proceeded, in that order.
type harness struct {
	t     *testing.T
	queue *fairqueue.Queue

	mu       sync.Mutex // the release of one request may let several others proceed
	order    []string
	releases []func()
}

func inBubble(t *testing.T, cfg fairqueue.Config, test func(h *harness)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(&harness{t: t, queue: fairqueue.New(cfg)}) })
}

// ask sends a request of a user, and returns when nothing more happens.
func (h *harness) ask(user string, bytes int64) {
	go func() {
		release, err := h.queue.Acquire(context.Background(), user, bytes)
		if err != nil {
			h.t.Error(err)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.order, h.releases = append(h.order, user), append(h.releases, release)
	}()
	synctest.Wait()
}

// release releases the oldest request.
func (h *harness) release() {
	oldest := h.releases[0]
	h.releases = h.releases[1:]
	oldest()
	synctest.Wait()
}

func (h *harness) want(order ...string) {
	h.t.Helper()
	if !slices.Equal(h.order, order) {
		h.t.Errorf("the order of the users is %v, want %v", h.order, order)
	}
}

// A user with very many large requests delays no other user.
func TestQueue_oneUserHoldsAtMostHalf(t *testing.T) {
	inBubble(t, fairqueue.Config{Wait: time.Hour}, func(h *harness) {
		for range 300 {
			h.ask("heavy", large)
		}
		h.want("heavy")
		h.ask("ada", 100)
		h.ask("ada", large/2)
		h.want("heavy", "ada", "ada")
		for range 302 {
			h.release()
		}
		if len(h.order) != 302 {
			h.t.Errorf("%d fairqueue are given", len(h.order))
		}
	})
}

// Two users who request more than there is get half of the bytes each, whatever the size of their requests.
func TestQueue_usersGetTheSameBytes(t *testing.T) {
	inBubble(t, fairqueue.Config{Wait: time.Hour}, func(h *harness) {
		for range 40 {
			h.ask("bob", large)
		}
		for range 400 {
			h.ask("ada", large/4)
		}
		for range 100 {
			h.release()
		}
		bytes := make(map[string]int)
		for _, user := range h.order {
			bytes[user] += map[string]int{"bob": 4, "ada": 1}[user]
		}
		if ratio := float64(bytes["bob"]) / float64(bytes["ada"]); ratio < 0.5 || ratio > 2 {
			h.t.Errorf("the users got %v", bytes)
		}
		for len(h.releases) > 0 {
			h.release()
		}
	})
}

// Many users with too many requests alternate.
func TestQueue_usersAlternate(t *testing.T) {
	inBubble(t, fairqueue.Config{Wait: time.Hour}, func(h *harness) {
		for range 3 {
			for i := range 5 {
				h.ask(fmt.Sprint(i), large)
			}
		}
		for range 15 {
			h.release()
		}
		// The first two users had a request that proceeded before the others arrived.
		h.want("0", "1", "0", "1", "2", "3", "4", "0", "1", "2", "3", "4", "2", "3", "4")
	})
}

// A large request proceeds although small requests of other users keep arriving.
func TestQueue_smallRequestsDoNotStarveALargeOne(t *testing.T) {
	inBubble(t, fairqueue.Config{Wait: time.Hour}, func(h *harness) {
		for i := range 8 {
			h.ask(fmt.Sprint(i), large/4)
		}
		h.ask("large", large)
		for i := range 8 {
			h.ask(fmt.Sprint("late ", i), large/4)
		}
		h.want("0", "1", "2", "3", "4", "5", "6")
		for range 5 {
			h.release()
		}
		if h.order[7] != "7" || h.order[8] != "large" {
			h.t.Errorf("the order of the users is %v", h.order)
		}
		for len(h.releases) > 0 {
			h.release()
		}
	})
}

// A request that waits too long gets ErrBusy, and a request that is canceled makes room for others.
func TestQueue_limitsTheWait(t *testing.T) {
	inBubble(t, fairqueue.Config{}, func(h *harness) {
		h.ask("ada", large)
		began := time.Now()
		if _, err := h.queue.Acquire(h.t.Context(), "ada", large); !errors.Is(err, fairqueue.ErrBusy) || time.Since(began) != 5*time.Second {
			h.t.Errorf("error %v after %v", err, time.Since(began))
		}
		gone, leave := context.WithCancel(h.t.Context())
		left := make(chan error)
		go func() {
			_, err := h.queue.Acquire(gone, "ada", large)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			h.t.Errorf("error %v", err)
		}
		h.release()
		h.ask("ada", 10<<20) // a larger request counts as all that a user may hold
		h.want("ada", "ada")
		h.release()
	})
}
