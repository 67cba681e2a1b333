package main

import (
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/sender/faultserver"
)

// The response modes of a port of the receiver.
const (
	accepts = "accepts" // accepts every event at once
	fails   = "fails"   // rejects the first attempt of one event in ten with 500
	hangs   = "hangs"   // never responds
	hostile = "hostile" // sends a hostile response, a different one at each port
	floods  = "floods"  // sends a huge response at once
)

// receiverConfig configures a receiver process.
type receiverConfig struct {
	Secret string
	Ports  map[string]int // number of ports by response mode
}

// query asks a receiver process for its tally. The process responds when it has accepted a number of events, or after
// MaxWait.
type query struct {
	Accepted int
	MaxWait  time.Duration
	Arrivals bool // include the arrival time of each event
	Reset    bool // reset the receiver after the response
}

// tally counts the events that a receiver process received.
type tally struct {
	Accepted   int       // events
	Duplicates int       // repeated attempts of accepted events
	Failed     int       // attempts rejected in the mode fails
	Wrong      int       // attempts whose signature or body is wrong
	Inversions int       // attempts out of order within their subject
	First      time.Time // arrival of the first and the last new event
	Last       time.Time
	Arrivals   map[string]time.Time // of new events, by id
}

// rate returns the accepted events per second.
func (t tally) rate() float64 { return float64(t.Accepted-1) / t.Last.Sub(t.First).Seconds() }

// runReceiver runs this program as a receiver. It reads its configuration, writes its URLs, and answers queries until
// its input ends.
func runReceiver(ctx context.Context, _ []string, in io.Reader, out io.Writer) error {
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	var cfg receiverConfig
	if err := decoder.Decode(&cfg); err != nil {
		return err
	}
	secret, err := webhook.ParseSecret(cfg.Secret)
	if err != nil {
		return err
	}
	r := newReceiver(secret)
	urls := make(map[string][]string)
	for mode, ports := range cfg.Ports {
		for i := range ports {
			server, err := faultserver.Start(faultserver.Config{Keep: -1, Script: r.script(mode, i)}) //nolint:contextcheck // runs until Close
			if err != nil {
				return err
			}
			defer server.Close()
			urls[mode] = append(urls[mode], server.URL()+"/")
		}
	}
	if err := encoder.Encode(urls); err != nil {
		return err
	}
	for {
		var q query
		if err := decoder.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(r.respond(ctx, q)); err != nil {
			return err
		}
	}
}

// receiver verifies and counts the events that arrive at its ports. It is safe for concurrent use.
type receiver struct {
	secret webhook.Secret

	mu       sync.Mutex
	tally    tally
	failed   map[string]bool  // by event
	sequence map[string]int64 // sequence of the last accepted event, by subject
	waiting  int              // number of events at which reached is closed
	reached  chan struct{}
}

func newReceiver(secret webhook.Secret) *receiver {
	r := &receiver{secret: secret}
	r.reset()
	return r
}

func (r *receiver) reset() {
	r.tally = tally{Arrivals: make(map[string]time.Time)}
	r.failed, r.sequence = make(map[string]bool), make(map[string]int64)
}

func (r *receiver) script(mode string, port int) faultserver.Script {
	fault := faultserver.Func(func(_ context.Context, conn net.Conn, request faultserver.Request) bool {
		status := r.receive(request, mode)
		_, err := io.WriteString(conn, "HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status)+"\r\nContent-Length: 0\r\n\r\n")
		return err == nil
	})
	switch mode {
	case hangs:
		fault = faultserver.Hang()
	case floods:
		all := []faultserver.Fault{faultserver.GzipBomb(), faultserver.HugeBody(10_000_000_000), faultserver.HugeHeaders(1 << 20)}
		fault = all[port%len(all)]
	case hostile:
		all := hostileFaults()
		fault = all[port%len(all)]
	}
	return func(faultserver.Request) faultserver.Fault { return fault }
}

// hostileFaults are responses that try to exceed the deadline or the memory of the sender.
func hostileFaults() []faultserver.Fault {
	return []faultserver.Fault{
		faultserver.Hang(), faultserver.Stall(),
		faultserver.SlowHeaders(100 * time.Millisecond), faultserver.SlowBody(100 * time.Millisecond),
		faultserver.HugeBody(10_000_000_000), faultserver.GzipBomb(),
		faultserver.HugeHeaders(1 << 20), faultserver.EndlessInformational(),
	}
}

// receive verifies and counts a request. It returns the status of the response.
func (r *receiver) receive(request faultserver.Request, mode string) int {
	now := time.Now()
	verified := webhook.Verify(request.Header, request.Body, now, r.secret)
	sequence, err := strconv.ParseInt(request.Header.Get(webhook.HeaderSequence), 10, 64)
	var event struct {
		Data struct {
			AvatarID    string `json:"avatar_id"`
			InferenceID string `json:"inference_id"`
		} `json:"data"`
	}
	err = errors.Join(err, json.Unmarshal(request.Body, &event))
	id, subject := request.Header.Get(webhook.HeaderID), cmp.Or(event.Data.InferenceID, event.Data.AvatarID)

	r.mu.Lock()
	defer r.mu.Unlock()
	if verified != nil || err != nil || subject == "" {
		r.tally.Wrong++
		return http.StatusUnauthorized
	}
	// The last event may be repeated if the daemon was killed before it recorded the acceptance.
	if last := r.sequence[subject]; sequence != last && sequence != last+1 {
		r.tally.Inversions++
	}
	if mode == fails && failsFirst(id) && !r.failed[id] {
		r.failed[id] = true
		r.tally.Failed++
		return http.StatusInternalServerError
	}
	r.sequence[subject] = max(r.sequence[subject], sequence)
	if _, known := r.tally.Arrivals[id]; known {
		r.tally.Duplicates++
		return http.StatusNoContent
	}
	if len(r.tally.Arrivals) == 0 {
		r.tally.First = now
	}
	r.tally.Last = now
	r.tally.Arrivals[id] = now
	if r.reached != nil && len(r.tally.Arrivals) == r.waiting {
		close(r.reached)
		r.reached = nil
	}
	return http.StatusNoContent
}

// failsFirst selects one event in ten.
func failsFirst(id string) bool {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, id)
	return hash.Sum32()%10 == 0
}

func (r *receiver) respond(ctx context.Context, q query) tally {
	r.mu.Lock()
	reached := make(chan struct{})
	if r.waiting = q.Accepted; len(r.tally.Arrivals) >= q.Accepted {
		close(reached)
	} else {
		r.reached = reached
	}
	r.mu.Unlock()
	timer := time.NewTimer(q.MaxWait)
	defer timer.Stop()
	select {
	case <-reached:
	case <-timer.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reached = nil
	t := r.tally
	t.Accepted, t.Arrivals = len(r.tally.Arrivals), nil
	if q.Arrivals {
		t.Arrivals = maps.Clone(r.tally.Arrivals)
	}
	if q.Reset {
		r.reset()
	}
	return t
}
