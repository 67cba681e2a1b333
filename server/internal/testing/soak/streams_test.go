package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// Readers that resume their streams get every event exactly once, and the events of each subject in order, while
// daemons are killed and frozen and connections are cut. On PostgreSQL, there are two daemons, and readers connect to
// either.
func TestStreams_haveEveryEventOnceDespiteFaults(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		d.skipShortOnPostgres(t, "it waits for the ends of leases")
		rounds, avatars := 9**scale, 4 // of each round
		if testing.Short() {
			rounds = 3
		}
		r := receive(d, 1, nil)
		start := func() *harness.Daemon { return d.start("--renderer=simulate:50ms", "--receiver-rate=1000") }
		daemons := []*harness.Daemon{start()}
		if !strings.HasPrefix(d.dsn, "sqlite:") {
			daemons = append(daemons, start())
		}
		d.connect(daemons...)
		d.login()
		readers := []*streamReader{d.read(), d.read()}
		var created []string
		create := func(key string) {
			harness.Eventually(t, "the avatar "+key, func() bool {
				avatar, err := d.createAvatar(t.Context(), key, r.urls[0])
				if err == nil {
					created = append(created, avatar.AvatarID)
				}
				return err == nil
			})
		}
		// Without a position, a reader begins with the events that are recorded after its request.
		for i, reader := range readers {
			harness.Eventually(t, fmt.Sprintf("an event at reader %d", i), func() bool {
				create(fmt.Sprintf("early-%d", len(created)))
				return reader.position() != ""
			})
		}
		early := len(created)
		for _, reader := range readers {
			reader.begin(created)
		}
		for round := range rounds {
			var creating sync.WaitGroup
			creating.Go(func() {
				for i := range avatars {
					create(fmt.Sprintf("%d-%d", round, i))
				}
			})
			time.Sleep(rand.N(200 * time.Millisecond)) // faults come at any time
			switch i := rand.IntN(len(daemons)); round % 3 {
			case 0:
				check(t, daemons[i].Kill())
				r.abandonUnanswered()
				daemons[i] = start()
				d.connect(daemons...)
			case 1:
				check(t, daemons[i].Freeze())
				time.Sleep(rand.N(2 * time.Second))
				check(t, daemons[i].Resume())
			case 2:
				d.cut()
			}
			creating.Wait()
		}
		for i, reader := range readers {
			harness.Eventually(t, fmt.Sprintf("all events of %d avatars at reader %d", len(created), i), func() bool { return reader.has(created[early:]) })
			reader.stop()
			t.Logf("reader %d got all events of %d avatars, with %d further ranges over a stream", i, len(created), reader.ranges-1)
		}
		for _, p := range daemons {
			check(t, p.Stop())
		}
	})
}

// streamReader reads a stream of events, and begins where it stopped whenever its range ends.
type streamReader struct {
	stop   func()
	ranges int // valid after stop

	mu        sync.Mutex
	last      string
	early     []string         // subjects that may have had events before the stream; nil for any
	sequences map[string]int64 // the last of each subject
}

// read starts a reader. It fails the test if an event comes twice or out of order.
func (d *deployment) read() *streamReader {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	c, r, ended := d.newClient(client.Retry{BaseDelay: 50 * time.Millisecond}), &streamReader{sequences: make(map[string]int64)}, make(chan struct{})
	r.stop = func() { cancel(); <-ended }
	d.t.Cleanup(r.stop)
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil; r.ranges++ {
			var options []client.CallOption
			if after := r.position(); after != "" {
				options = append(options, client.After(after))
			}
			for event, err := range c.StreamEvents(ctx, options...) {
				if err == nil {
					err = r.take(event.ID, event.Data)
				} else if _, rejected := errors.AsType[*client.Error](err); !rejected {
					break // no daemon is reachable
				}
				if err != nil && ctx.Err() == nil && !isUnavailable(err) {
					d.t.Error(err)
					return
				}
			}
		}
	}()
	return r
}

// take takes an event.
func (r *streamReader) take(id string, data gen.StreamEventsData) error {
	if data.EventRecord == nil {
		return fmt.Errorf("an item without an event: %+v", data)
	}
	var subject gen.AvatarEventData
	if err := json.Unmarshal(data.EventRecord.Notification.Data, &subject); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, sequence := r.sequences[subject.AvatarID], data.EventRecord.Sequence
	if r.early != nil && !slices.Contains(r.early, subject.AvatarID) && sequence != before+1 {
		return fmt.Errorf("event %d of %s comes after event %d", sequence, subject.AvatarID, before)
	}
	r.last, r.sequences[subject.AvatarID] = id, sequence
	return nil
}

// position returns the id of the last item.
func (r *streamReader) position() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// begin makes the reader expect all events of all other subjects.
func (r *streamReader) begin(early []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.early = early
}

// has reports whether the three events of each avatar have come.
func (r *streamReader) has(avatars []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(avatars, func(id string) bool { return r.sequences[id] != 3 })
}
