package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
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
		rounds, avatars := 25, 4**scale // of each round
		if testing.Short() {
			rounds = 4
		}
		n := &network{daemons: []*harness.Daemon{d.start("--renderer=simulate:50ms")}, open: make(map[net.Conn]bool)}
		if !strings.HasPrefix(d.dsn, "sqlite:") {
			n.daemons = append(n.daemons, d.start("--renderer=simulate:50ms"))
		}
		creator, readers := n.client(t), []*streamReader{n.read(t), n.read(t)}
		var created []string
		create := func(key string) {
			made := harness.Poll(t.Context(), harness.Timeout, func() bool {
				avatar, err := creator.CreateAvatar(t.Context(), gen.CreateAvatarRequest{
					Title: gen.Value(key), BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"),
				}, client.WithIdempotencyKey(key))
				if err == nil {
					created = append(created, avatar.AvatarID)
				}
				return err == nil
			})
			if !made {
				t.Errorf("the avatar %s is not created", key)
			}
		}
		// Without a position, a reader begins with the events that are recorded after its request.
		for i, r := range readers {
			harness.Eventually(t, fmt.Sprintf("an event at reader %d", i), func() bool {
				create(fmt.Sprintf("early-%d", len(created)))
				return r.position() != ""
			})
		}
		for _, r := range readers {
			r.begin(created)
		}
		created = nil
		for round := range rounds {
			var creating sync.WaitGroup
			creating.Go(func() {
				for i := range avatars {
					create(fmt.Sprintf("%d-%d", round, i))
				}
			})
			time.Sleep(rand.N(200 * time.Millisecond)) // faults come at any time
			switch i := rand.IntN(len(n.daemons)); round % 3 {
			case 0:
				check(t, n.daemons[i].Kill())
				n.replace(i, d.start("--renderer=simulate:50ms"))
			case 1:
				check(t, n.daemons[i].Freeze())
				time.Sleep(rand.N(2 * time.Second))
				check(t, n.daemons[i].Resume())
			case 2:
				n.cut()
			}
			creating.Wait()
		}
		for i, r := range readers {
			harness.Eventually(t, fmt.Sprintf("all events of %d avatars at reader %d", len(created), i), func() bool { return r.has(created) })
			r.stop()
			t.Logf("reader %d got all events of %d avatars, with %d further ranges over a stream", i, len(created), r.ranges-1)
		}
		for _, p := range n.daemons {
			check(t, p.Stop())
		}
	})
}

// network connects clients to daemons, to any of them at a time.
type network struct {
	mu      sync.Mutex
	daemons []*harness.Daemon
	open    map[net.Conn]bool
}

func (n *network) replace(i int, p *harness.Daemon) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.daemons[i] = p
}

// cut closes all connections.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn := range n.open {
		_ = conn.Close()
	}
	clear(n.open)
}

func (n *network) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	n.mu.Lock()
	url := n.daemons[rand.IntN(len(n.daemons))].URL
	n.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(url, "http://"))
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open[conn] = true
	}
	return conn, err
}

func (n *network) client(t *testing.T) *client.Client {
	t.Helper()
	transport := &http.Transport{DialContext: n.dial}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Config{
		BaseURL: "http://studio.example.com", AllowHTTP: true, Email: email, Password: password,
		HTTPClient: &http.Client{Transport: transport}, Retry: client.Retry{BaseDelay: 50 * time.Millisecond},
	})
	check(t, err)
	return c
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
func (n *network) read(t *testing.T) *streamReader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c, r, ended := n.client(t), &streamReader{sequences: make(map[string]int64)}, make(chan struct{})
	r.stop = func() { cancel(); <-ended }
	t.Cleanup(r.stop)
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
					t.Error(err)
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
