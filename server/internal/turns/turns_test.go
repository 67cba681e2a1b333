package turns_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/turns"
)

// large is the bytes of a request of which two users can have one each at once.
const large = 1<<20 - turns.Overhead

// line is requests that wait, and those that have got their turns in that order.
type line struct {
	t     *testing.T
	turns *turns.Turns

	mu    sync.Mutex // the end of one turn may be the beginning of several
	order []string
	ends  []func()
}

func inBubble(t *testing.T, cfg turns.Config, test func(l *line)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(&line{t: t, turns: turns.New(cfg)}) })
}

// ask makes a user wait with a request, and returns when nothing more happens.
func (l *line) ask(user string, bytes int64) {
	go func() {
		end, err := l.turns.Take(context.Background(), user, bytes)
		if err != nil {
			l.t.Error(err)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.order, l.ends = append(l.order, user), append(l.ends, end)
	}()
	synctest.Wait()
}

// end ends the oldest turn.
func (l *line) end() {
	end := l.ends[0]
	l.ends = l.ends[1:]
	end()
	synctest.Wait()
}

func (l *line) want(order ...string) {
	l.t.Helper()
	if !slices.Equal(l.order, order) {
		l.t.Errorf("turns are of %v, want %v", l.order, order)
	}
}

// A user with very many large requests holds up nobody.
func TestTurns_oneUserLeavesHalfToOthers(t *testing.T) {
	inBubble(t, turns.Config{Wait: time.Hour}, func(l *line) {
		for range 300 {
			l.ask("heavy", large)
		}
		l.want("heavy")
		l.ask("ada", 100)
		l.ask("ada", large/2)
		l.want("heavy", "ada", "ada")
		for range 302 {
			l.end()
		}
		if len(l.order) != 302 {
			l.t.Errorf("%d turns are given", len(l.order))
		}
	})
}

// Of two who ask for more than there is, each has half of the bytes, however large their requests are.
func TestTurns_usersGetTheSameBytes(t *testing.T) {
	inBubble(t, turns.Config{Wait: time.Hour}, func(l *line) {
		for range 40 {
			l.ask("bob", large)
		}
		for range 400 {
			l.ask("ada", large/4)
		}
		for range 100 {
			l.end()
		}
		bytes := make(map[string]int)
		for _, user := range l.order {
			bytes[user] += map[string]int{"bob": 4, "ada": 1}[user]
		}
		if ratio := float64(bytes["bob"]) / float64(bytes["ada"]); ratio < 0.5 || ratio > 2 {
			l.t.Errorf("the users got %v", bytes)
		}
		for len(l.ends) > 0 {
			l.end()
		}
	})
}

// Many users who all ask for too much take turns one after the other.
func TestTurns_goRound(t *testing.T) {
	inBubble(t, turns.Config{Wait: time.Hour}, func(l *line) {
		for range 3 {
			for i := range 5 {
				l.ask(fmt.Sprint(i), large)
			}
		}
		for range 15 {
			l.end()
		}
		// The first two had a turn before the others came, and go on with the next.
		l.want("0", "1", "0", "1", "2", "3", "4", "0", "1", "2", "3", "4", "2", "3", "4")
	})
}

// A large request gets its turn although small ones of others keep coming.
func TestTurns_smallRequestsDoNotPassALargeOneForEver(t *testing.T) {
	inBubble(t, turns.Config{Wait: time.Hour}, func(l *line) {
		for i := range 8 {
			l.ask(fmt.Sprint(i), large/4)
		}
		l.ask("large", large)
		for i := range 8 {
			l.ask(fmt.Sprint("late ", i), large/4)
		}
		l.want("0", "1", "2", "3", "4", "5", "6")
		for range 5 {
			l.end()
		}
		if l.order[7] != "7" || l.order[8] != "large" {
			l.t.Errorf("turns are of %v", l.order)
		}
		for len(l.ends) > 0 {
			l.end()
		}
	})
}

// Who waits for too long is told so, and who has gone leaves the turn to others.
func TestTurns_areNotAwaitedForEver(t *testing.T) {
	inBubble(t, turns.Config{}, func(l *line) {
		l.ask("ada", large)
		began := time.Now()
		if _, err := l.turns.Take(l.t.Context(), "ada", large); !errors.Is(err, turns.ErrBusy) || time.Since(began) != 5*time.Second {
			l.t.Errorf("error %v after %v", err, time.Since(began))
		}
		gone, leave := context.WithCancel(l.t.Context())
		left := make(chan error)
		go func() {
			_, err := l.turns.Take(gone, "ada", large)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			l.t.Errorf("error %v", err)
		}
		l.end()
		l.ask("ada", 10<<20) // more than there is takes all that a user may have
		l.want("ada", "ada")
		l.end()
	})
}
