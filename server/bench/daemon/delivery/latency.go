package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const (
	latencyPorts = 8
	hungEvents   = 64
	// besideRate is below the limit of 50 per second for each origin.
	besideRate = 40
	pacedRate  = 50
)

// latency measures the latency of events at 50 events per second.
func latency(ctx context.Context, s *setup) ([]figure, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	l, err := s.pace(ctx, pacedRate, s.paced)
	if err != nil {
		return nil, err
	}
	limit := s.db.targets().p99
	return []figure{{
		"latency at 50 events/s", fmt.Sprintf("p99 ≤ %d ms", limit.Milliseconds()), l.String(), l.p99 <= limit,
	}}, s.d.Stop()
}

// hungReceiver measures the latency of a healthy origin while another origin reads events and never responds.
func hungReceiver(ctx context.Context, s *setup) ([]figure, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.d.create(ctx, 0, hungEvents, s.receiver.urls[hangs]); err != nil {
		return nil, err
	}
	l, err := s.pace(ctx, besideRate, s.besideHung)
	return []figure{{
		fmt.Sprintf("latency of a healthy origin at %d events/s, with %d events to a hanging origin", besideRate, hungEvents), "p99 ≤ 100 ms",
		l.String(), l.p99 <= 100*time.Millisecond,
	}}, err
}

// waiting measures the latency with and without many events that wait for a hanging origin.
func waiting(ctx context.Context, s *setup) ([]figure, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	empty, err := s.pace(ctx, pacedRate, s.paced)
	if err != nil {
		return nil, err
	}
	if err := s.d.Stop(); err != nil {
		return nil, err
	}
	if err := s.db.seed(ctx, batch{name: "waiting", urls: s.receiver.urls[hangs], subjects: s.waiting, events: 1}); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	full, err := s.pace(ctx, pacedRate, s.paced)
	_, peak := s.d.Memory()
	name := fmt.Sprintf("with %s waiting events", measure.Thousands(s.waiting))
	return []figure{
		{
			name + ": latency at 50 events/s", "p99 ≤ 2 × p99 without them",
			fmt.Sprintf("%v; without them %v", full, empty), full.p99 <= 2*empty.p99,
		},
		{name + ": memory", "< 200 MiB", measure.Mebibytes(peak), peak < 200<<20},
	}, err
}

// latencies are medians of the rounds.
type latencies struct{ p50, p99 time.Duration }

func (l latencies) String() string {
	return fmt.Sprintf("p50 %s, p99 %s", measure.Milliseconds(l.p50), measure.Milliseconds(l.p99))
}

// pace creates events for the healthy origins at a steady rate and returns their latencies. The latency of an event is
// the time from just before studiod writes it to its arrival.
func (s *setup) pace(ctx context.Context, rate, events int) (l latencies, err error) {
	var p50s, p99s []float64
	for range s.rounds {
		if _, err := s.receiver.reset(); err != nil {
			return l, err
		}
		if err := s.d.create(ctx, rate, events, s.receiver.urls[accepts]); err != nil {
			return l, err
		}
		t, err := s.receiver.waitAll(events, 20*time.Second, true)
		if err != nil {
			return l, err
		}
		created, err := s.db.eventOrigins(ctx)
		if err != nil {
			return l, err
		}
		var took []float64
		for id, at := range t.Arrivals {
			took = append(took, float64(at.Sub(created[id].at)))
		}
		p50s, p99s = append(p50s, measure.Percentile(took, 50)), append(p99s, measure.Percentile(took, 99))
	}
	return latencies{time.Duration(median(p50s)), time.Duration(median(p99s))}, nil
}

// create creates lip-syncs, which are rendered at once and have one event each. Their webhooks use the URLs in turn.
// The rate is per second. At rate 0, create starts one per millisecond.
func (d *daemon) create(ctx context.Context, rate, events int, urls []string) error {
	studio, err := client.New(client.Config{BaseURL: d.URL, Email: email, Password: password})
	if err != nil {
		return err
	}
	every := time.Millisecond
	if rate > 0 {
		every = time.Second / time.Duration(rate)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var creating sync.WaitGroup
	errs := make(chan error, events)
	for i := range events {
		creating.Go(func() {
			_, err := studio.CreateLipsync(ctx, gen.CreateLipsyncRequest{
				WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(urls[i%len(urls)])}), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
			})
			errs <- err
		})
		<-ticker.C
	}
	creating.Wait()
	for range events {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
