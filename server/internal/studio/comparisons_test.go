package studio_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// served queues callers one second apart for the single slot. It returns the order in which they get it, with
// "!" after those that are rejected.
func served(t *testing.T, most int, callers ...string) (order []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		queue := studio.NewComparisonQueue(most)
		finish := try(queue.Acquire(t.Context(), "somebody", false))(t)
		results := make(chan string, len(callers))
		for _, caller := range callers {
			go func() {
				known := caller[0] == '+'
				done, err := queue.Acquire(t.Context(), caller, known)
				if err != nil {
					wantError(t, err, studio.ErrBusy)
					caller += "!"
				}
				results <- caller
				if err == nil {
					done()
				}
			}()
			synctest.Wait()
		}
		finish()
		finish() // no effect
		for range callers {
			order = append(order, <-results)
		}
	})
	return order
}

func TestComparisonQueue_prefersKnownAddressesAndIsFair(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		most          int
		callers, want []string
	}{
		{9, []string{"a", "a", "a", "b", "+c", "b", "d"}, []string{"+c", "a", "b", "d", "a", "b", "a"}},
		{2, []string{"a", "a", "a"}, []string{"a!", "a", "a"}},
		{2, []string{"a", "a", "b"}, []string{"a!", "a", "b"}}, // address a has the most waiting logins
		{2, []string{"a", "a", "+b", "+b", "+b"}, []string{"+b!", "+b", "+b", "a", "a"}},
		{2, []string{"a", "b", "c"}, []string{"c!", "a", "b"}},
	} {
		if got := served(t, test.most, test.callers...); !slices.Equal(got, test.want) {
			t.Errorf("%d may wait: %v get their turns as %v, want %v", test.most, test.callers, got, test.want)
		}
	}
}

func TestComparisonQueue_releasesSlotsOfCanceledLogins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := studio.NewComparisonQueue(10)
		for i := range 10 {
			finish := try(queue.Acquire(t.Context(), "a", false))(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			go func() { // at the same time
				time.Sleep(time.Second)
				finish()
			}()
			if done, err := queue.Acquire(ctx, fmt.Sprint(i), i%2 == 0); err == nil {
				done()
			}
			cancel()
			synctest.Wait()
		}
	})
}
