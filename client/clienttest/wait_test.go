package clienttest_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// 100 waits share one stream, and end soon after the change.
func TestWait_endsSoonAfterTheChange(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c := newClient(t, s)
	const waits = 100
	var (
		mu      sync.Mutex
		changed = map[string]time.Time{}
		longest time.Duration
		waiting sync.WaitGroup
		ids     []string
	)
	for range waits {
		lipsync, err := c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
		check(t, err)
		ids = append(ids, lipsync.InferenceID)
		waiting.Go(func() {
			if _, err := c.WaitLipsync(t.Context(), lipsync.InferenceID); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Since(changed[lipsync.InferenceID]))
		})
	}
	for len(s.Requests("getLipsync")) < waits {
		time.Sleep(time.Millisecond)
	}
	for _, id := range ids {
		mu.Lock()
		changed[id] = time.Now()
		mu.Unlock()
		s.SetInference(id, gen.InferenceStatusSucceeded)
	}
	waiting.Wait()
	t.Logf("the last of %d waits ended %v after the change", waits, longest)
	if longest > 15*time.Second { // 100 ms on an idle machine; polls beside a stream take 30 s
		t.Errorf("a wait ended %v after the change", longest)
	}
	if streams, polls := len(s.Requests("streamEvents")), len(s.Requests("getLipsync")); streams != 1 || polls > 2*waits+10 {
		t.Errorf("%d requests for streams, %d polls", streams, polls)
	}
}

// A wait survives what happens to its stream, and ends soon after the change.
func TestWait_survivesFaultsOfTheStream(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault   clienttest.Fault
		disturb func(s *clienttest.Service)
		took    time.Duration // at most
		streams int           // requests at most
	}{
		"none":                {nil, nil, 0, 1},
		"tokens run out":      {nil, func(*clienttest.Service) { time.Sleep(3 * time.Hour) }, time.Second, 10},
		"a proxy that cuts":   {clienttest.CutAfter(1), nil, time.Second, 30},
		"a proxy that stalls": {clienttest.StallAfter(0), nil, 31 * time.Second, 30},
		"duplicates":          {clienttest.DuplicateItem(1), nil, time.Second, 11}, // the fault sends no comments
		"not implemented":     {clienttest.Status(http.StatusNotImplemented), nil, 10 * time.Second, 11},
		"unknown":             {clienttest.Status(http.StatusNotFound), nil, 10 * time.Second, 11},
		"too many streams":    {clienttest.RetryAfter(http.StatusTooManyRequests, 5*time.Second), nil, 10 * time.Second, 50},
		"a web page":          {clienttest.HTML(http.StatusOK), nil, 10 * time.Second, 11},
		"expired tokens":      {nil, (*clienttest.Service).ExpireTokens, time.Second, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewInMemory(t)
				c := newClient(t, s)
				if test.fault != nil {
					s.Fail("streamEvents", 1000, test.fault)
				}
				avatar, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
				check(t, err)
				time.AfterFunc(5*time.Minute, func() { s.SetAvatar(avatar.AvatarID, gen.AvatarStatusConsentPending) })
				var changes time.Time
				time.AfterFunc(7*time.Minute, func() {
					if test.disturb != nil {
						test.disturb(s)
					}
					time.Sleep(3 * time.Minute)
					changes = time.Now()
					s.SetAvatar(avatar.AvatarID, gen.AvatarStatusPublished)
				})
				got, err := c.WaitAvatar(t.Context(), avatar.AvatarID)
				if err != nil || got.Status != gen.AvatarStatusPublished || time.Since(changes) > test.took {
					t.Errorf("avatar %v, error %v after %v", got, err, time.Since(changes))
				}
				if streams := len(s.Requests("streamEvents")); streams > test.streams {
					t.Errorf("%d requests for the stream", streams)
				}
			})
		})
	}
}
