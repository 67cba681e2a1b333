package daemon_test

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// The response modes of a port of the receiver.
const (
	accepts = "accepts" // accepts every event at once
	fails   = "fails"   // rejects the first attempt of one event in ten with 500
	hangs   = "hangs"   // never responds
	hostile = "hostile" // sends a hostile response, a different one at each port
	floods  = "floods"  // sends a huge response at once
)

// ports are the numbers of ports by response mode.
type ports map[string]int

// receiverConfig configures a receiver process.
type receiverConfig struct {
	Secrets []string // of the users whose events arrive at the ports, in turn
	Ports   ports
}

// query asks a receiver process for its tally. The process responds when it has accepted a number of events, or after
// MaxWait.
type query struct {
	Accepted int
	MaxWait  time.Duration
	Arrivals bool // include the arrival time of each event
	Reset    bool // reset the receiver after the response
}

// receiver is the connection to a receiver in its own process.
type receiver struct {
	*harness.Child
	t       testing.TB
	urls    map[string][]string // by response mode
	encoder *gob.Encoder
	decoder *gob.Decoder
}

func startReceiver(t testing.TB, cfg receiverConfig) *receiver {
	t.Helper()
	child := try(harness.StartChild(context.Background(), "receiver"))(t)
	t.Cleanup(func() { check(t, child.Close()) })
	r := &receiver{Child: child, t: t, encoder: gob.NewEncoder(child.In), decoder: gob.NewDecoder(child.Out)}
	check(t, errors.Join(r.encoder.Encode(cfg), r.decoder.Decode(&r.urls)))
	return r
}

// ask sends a query to the receiver and returns its response.
func (r *receiver) ask(q query) (t tally) {
	r.t.Helper()
	check(r.t, errors.Join(r.encoder.Encode(q), r.decoder.Decode(&t)))
	return t
}

func (r *receiver) reset() { r.ask(query{Reset: true}) }

// await waits until the receiver has accepted all events, but not longer than maxWait. The run fails if an event is
// lost, out of order or wrongly signed.
func (r *receiver) await(events int, maxWait time.Duration) tally {
	r.t.Helper()
	t := r.ask(query{Accepted: events, MaxWait: maxWait, Arrivals: true})
	check(r.t, t.verify(events))
	return t
}

// tally counts the events that a receiver process received.
type tally struct {
	Accepted   int       // events
	Duplicates int       // repeated attempts of accepted events
	Failed     int       // attempts rejected in the mode fails
	Wrong      int       // attempts whose signature or body is wrong
	FirstWrong string    // the body and the error of the first of them
	Inversions int       // attempts out of order within their subject
	First      time.Time // arrival of the first and the last new event
	Last       time.Time
	Arrivals   map[string]time.Time // of the last new event, by subject
}

// verify returns an error unless the receiver has received so many events, in order and correctly signed.
func (t tally) verify(events int) error {
	switch {
	case t.Wrong > 0:
		return fmt.Errorf("%d attempts have a wrong signature or body, the first one %s", t.Wrong, t.FirstWrong)
	case t.Inversions > 0:
		return fmt.Errorf("%d attempts are out of order", t.Inversions)
	case t.Accepted != events:
		return fmt.Errorf("%d events of %d arrived", t.Accepted, events)
	}
	return nil
}

// rate returns the accepted events per second.
func (t tally) rate() float64 { return float64(t.Accepted-1) / t.Last.Sub(t.First).Seconds() }

// runReceiver runs this program as a receiver. It reads its configuration, writes its URLs, and answers queries until
// its input ends.
func runReceiver(_ context.Context, _ []string, in io.Reader, out io.Writer) error {
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	var cfg receiverConfig
	if err := decoder.Decode(&cfg); err != nil {
		return err
	}
	p := &process{}
	p.reset()
	urls := make(map[string][]string)
	for mode, n := range cfg.Ports {
		for i := range n {
			secret, err := webhook.ParseSecret(cfg.Secrets[i%len(cfg.Secrets)])
			if err != nil {
				return err
			}
			server := httptest.NewUnstartedServer(p.fault(mode, i, secret)) // until the process exits
			server.Config.ConnContext = withSmallBuffer
			server.Start()
			urls[mode] = append(urls[mode], server.URL+"/")
		}
	}
	err := encoder.Encode(urls)
	for err == nil {
		var q query
		if err = decoder.Decode(&q); err == nil {
			err = encoder.Encode(p.respond(q))
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// withSmallBuffer lets a response that nobody reads wait as on a network. On loopback, 2.6 MB of it would be copied first.
func withSmallBuffer(ctx context.Context, conn net.Conn) context.Context {
	_ = conn.(*net.TCPConn).SetWriteBuffer(64 << 10) //nolint:forcetypeassert // the listener has no others
	return ctx
}

// The receiver must detect every kind of wrong event, because a run fails only if it does.
func TestReceiver_detectsWrongEvents(t *testing.T) {
	t.Parallel()
	secret, other := webhook.NewSecret(), webhook.NewSecret()
	type event struct {
		sequence int
		secret   webhook.Secret
		status   string
	}
	receiver := startReceiver(t, receiverConfig{Secrets: []string{secret.Reveal()}, Ports: ports{accepts: 1}})
	client := measure.NewClient(receiver.urls[accepts][0], 1)
	defer client.Close()
	first, second := event{1, secret, "succeeded"}, event{2, secret, "succeeded"}
	for name, c := range map[string]struct {
		events     []event
		want       string // in the error
		duplicates int
	}{
		"last event again":   {[]event{first, first, second}, "", 1},
		"lost event":         {[]event{first}, "1 events of 2", 0},
		"second event first": {[]event{second, first}, "out of order", 0},
		"first event again":  {[]event{first, second, first}, "out of order", 1},
		"wrong signature":    {[]event{first, second, {2, other, "succeeded"}}, "wrong signature", 0},
		"failed lip-sync":    {[]event{first, {2, secret, "failed"}}, "wrong signature or body", 0},
	} {
		t.Run(name, func(t *testing.T) {
			receiver.reset()
			for _, e := range c.events {
				_, _, err := client.Send(signedEvent(fmt.Sprint(e.sequence), "subject", e.status, e.sequence, e.secret))
				check(t, err)
			}
			tally := receiver.ask(query{Accepted: 2, MaxWait: 10 * time.Millisecond})
			if err := tally.verify(2); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || tally.Duplicates != c.duplicates {
				t.Errorf("the error is %v with %d duplicates, want %q", err, tally.Duplicates, c.want)
			}
		})
	}
}
