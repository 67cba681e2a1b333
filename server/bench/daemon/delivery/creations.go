package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const (
	minCreations = 1270 // per second, from 16 callers
	minEvents    = 1185 // per second, created and delivered
	// heavyConnections is the number of connections over which one user creates avatars with titles of heavyTitle bytes.
	heavyConnections = 300
	heavyTitle       = 800_000
	heavyEmail       = "heavy@example.com"
	// besideCreations is the rate at which another user concurrently creates lip-syncs, per second.
	besideCreations = 10
)

// creationRate measures the creations per second, each with a token, a webhook, an idempotency key and a
// title. It measures once without renderings, and once until the last event is delivered.
func creationRate(ctx context.Context, s *setup) ([]figure, error) {
	var floors, alone, together []float64
	for range s.rounds {
		n, err := s.db.Floor(ctx, s.floor)
		if err != nil {
			return nil, err
		}
		floors = append(floors, n)
		token, err := s.startAndLogin(ctx, "--renderer=simulate:10m")
		if err != nil {
			return nil, err
		}
		c := newCreator(s.d, token, s.receiver.urls[accepts])
		if n, err = measure.PerSecond(measure.Callers, s.creating, func() error { _, err := c.lipsync(ctx); return err }); err != nil {
			return nil, err
		}
		alone = append(alone, n)
		if err := s.d.Kill(); err != nil {
			return nil, err
		}
		if err := s.removeRenderings(ctx); err != nil {
			return nil, err
		}
		if n, err = s.createAndDeliver(ctx, token); err != nil {
			return nil, err
		}
		together = append(together, n)
	}
	floor, creations, events := median(floors), median(alone), median(together)
	return []figure{
		{"floor: durable transactions of one row, 16 callers, before creations", "", fmt.Sprintf("%.0f/s", floor), true},
		{
			"creations over HTTP, 16 callers", fmt.Sprintf("≥ %d/s and 0.5 × the floor", minCreations),
			fmt.Sprintf("%.0f/s (%.2f × the floor)", creations, creations/floor), creations >= minCreations && creations >= floor/2,
		},
		{
			"creations, renderings and deliveries together", fmt.Sprintf("≥ %d events/s", minEvents),
			fmt.Sprintf("%.0f/s", events), events >= minEvents,
		},
	}, nil
}

// createAndDeliver creates lip-syncs and returns the delivered events per second, measured from the first creation.
func (s *setup) createAndDeliver(ctx context.Context, token string) (float64, error) {
	if _, err := s.receiver.reset(); err != nil {
		return 0, err
	}
	if err := s.start(ctx); err != nil {
		return 0, err
	}
	c := newCreator(s.d, token, s.receiver.urls[accepts])
	// The previous daemon was killed. On PostgreSQL, its lease has to expire first.
	if _, err := c.lipsync(ctx); err != nil {
		return 0, err
	}
	if _, err := s.receiver.waitAll(1, time.Minute, false); err != nil {
		return 0, err
	}
	if _, err := s.receiver.reset(); err != nil {
		return 0, err
	}
	var made atomic.Int64
	began := time.Now()
	_, err := measure.PerSecond(measure.Callers, s.creating, func() error {
		made.Add(1)
		_, err := c.lipsync(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	t, err := s.receiver.waitAll(int(made.Load()), 2*time.Minute, false)
	if err != nil {
		return 0, err
	}
	if err := s.db.delivered(ctx); err != nil {
		return 0, err
	}
	return float64(t.Accepted) / t.Last.Sub(began).Seconds(), s.d.Stop()
}

// removeRenderings removes all pending renderings.
func (s *setup) removeRenderings(ctx context.Context) error {
	_, err := s.db.SQL.ExecContext(ctx, `UPDATE subjects SET render_at = NULL`)
	return err
}

// createdToReceived measures the time from the response to a creation to the arrival of its event, at 50
// creations per second.
func createdToReceived(ctx context.Context, s *setup) ([]figure, error) {
	token, err := s.startAndLogin(ctx)
	if err != nil {
		return nil, err
	}
	c := newCreator(s.d, token, s.receiver.urls[accepts])
	var p50s, p99s []float64
	for range s.rounds {
		_, events, err := s.paceCreations(ctx, c, pacedRate, s.paced)
		if err != nil {
			return nil, err
		}
		p50s, p99s = append(p50s, measure.Percentile(events, 50)), append(p99s, measure.Percentile(events, 99))
	}
	l := latencies{time.Duration(median(p50s)), time.Duration(median(p99s))}
	return []figure{{
		"latency from the response to a creation, at 50 creations/s", "p50 ≤ 18 ms, p99 ≤ 44 ms",
		l.String(), l.p50 <= 18*time.Millisecond && l.p99 <= 44*time.Millisecond,
	}}, s.d.Stop()
}

// largeCreations measures the creations of one user while another user creates very large avatars over many
// connections.
func largeCreations(ctx context.Context, s *setup) ([]figure, error) {
	if _, err := s.db.studiod(ctx, password, "user", "add", heavyEmail); err != nil {
		return nil, err
	}
	token, err := s.startAndLogin(ctx)
	if err != nil {
		return nil, err
	}
	heavy, err := s.d.login(ctx, heavyEmail)
	if err != nil {
		return nil, err
	}
	c := newCreator(s.d, token, s.receiver.urls[accepts])
	calls, events, err := s.paceCreations(ctx, c, besideCreations, s.besideHung)
	if err != nil {
		return nil, err
	}
	without, withoutEvents := latenciesOf(calls), latenciesOf(events)

	large := newCreator(s.d, heavy, nil)
	title := strings.Repeat("a", heavyTitle)
	working, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var accepted, rejected atomic.Int64
	for range heavyConnections {
		all.Go(func() {
			for working.Err() == nil {
				switch status, _, err := large.create(working, "/v1/avatars/create_avatar", title); {
				case err != nil: // the request was cancelled
				case status == http.StatusOK:
					accepted.Add(1)
				default:
					rejected.Add(1)
				}
			}
		})
	}
	s.d.ResetPeak()
	began := time.Now()
	calls, events, err = s.paceCreations(ctx, c, besideCreations, s.besideHung)
	took := time.Since(began)
	_, peak := s.d.Memory()
	cancel()
	all.Wait()
	if err != nil {
		return nil, err
	}
	with, withEvents := latenciesOf(calls), latenciesOf(events)
	name := fmt.Sprintf("with %d connections of another user who creates avatars of %s kB: ", heavyConnections, measure.Thousands(heavyTitle/1000))
	return []figure{
		{name + "latency of creations", "p99 ≤ 100 ms", fmt.Sprintf("%v; without them %v", with, without), with.p99 <= 100*time.Millisecond},
		{name + "latency from the response to a creation", "", fmt.Sprintf("%v; without them %v", withEvents, withoutEvents), true},
		{name + "creations of the other user", "", fmt.Sprintf("%.0f/s, and %.0f/s rejected", float64(accepted.Load())/took.Seconds(), float64(rejected.Load())/took.Seconds()), true},
		{name + "memory", "", measure.Mebibytes(peak), true},
	}, nil
}

func latenciesOf(took []float64) latencies {
	return latencies{time.Duration(measure.Percentile(took, 50)), time.Duration(measure.Percentile(took, 99))}
}

// paceCreations creates lip-syncs at a rate per second. It returns the durations of the calls, and the
// times from each response to the arrival of its event.
func (s *setup) paceCreations(ctx context.Context, c *creator, rate, creations int) (calls, events []float64, err error) {
	if _, err := s.receiver.reset(); err != nil {
		return nil, nil, err
	}
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var creating sync.WaitGroup
	respondedAt := make([]time.Time, creations)
	ids := make([]string, creations)
	calls = make([]float64, creations)
	errs := make(chan error, creations)
	for i := range creations {
		creating.Go(func() {
			began := time.Now()
			id, err := c.lipsync(ctx)
			respondedAt[i], ids[i], calls[i] = time.Now(), id, float64(time.Since(began))
			if err != nil {
				errs <- err
			}
		})
		<-ticker.C
	}
	creating.Wait()
	select {
	case err := <-errs:
		return nil, nil, err
	default:
	}
	t, err := s.receiver.waitAll(creations, 2*time.Minute, true)
	if err != nil {
		return nil, nil, err
	}
	arrived, err := s.arrivals(ctx, t)
	for i, id := range ids {
		events = append(events, float64(arrived[id].Sub(respondedAt[i])))
	}
	return calls, events, err
}

// arrivals returns the arrival times of events by subject.
func (s *setup) arrivals(ctx context.Context, t tally) (map[string]time.Time, error) {
	rows, err := s.db.SQL.QueryContext(ctx, `SELECT subject_id, id FROM events`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := make(map[string]time.Time)
	for rows.Next() {
		var subject, event string
		if err := rows.Scan(&subject, &event); err != nil {
			return nil, err
		}
		if at, ok := t.Arrivals[event]; ok {
			all[subject] = at
		}
	}
	return all, rows.Err()
}

// creator creates objects over persistent connections, with little overhead. It is safe for concurrent use.
type creator struct {
	base      string
	token     string
	urls      []string
	transport *http.Transport
	next      atomic.Int64
}

func newCreator(d *daemon, token string, urls []string) *creator {
	return &creator{
		base: d.URL, token: token, urls: urls,
		transport: &http.Transport{MaxIdleConnsPerHost: heavyConnections},
	}
}

// lipsync creates a lip-sync and returns its id.
func (c *creator) lipsync(ctx context.Context) (id string, err error) {
	status, body, err := c.create(ctx, "/v1/lipsync/create_lipsync", "Greeting")
	if err != nil {
		return "", err
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("creation: status %d: %.200s", status, body)
	}
	var response struct {
		ID string `json:"inference_id"`
	}
	return response.ID, json.Unmarshal(body, &response)
}

// create creates an object with a title and a new idempotency key.
func (c *creator) create(ctx context.Context, path, title string) (status int, responseBody []byte, err error) {
	body := `{"title":"` + title + `"`
	if len(c.urls) > 0 {
		body += `,"webhook_data":{"webhook_url":"` + c.urls[int(c.next.Add(1))%len(c.urls)] + `"},"webhook":{"enabled":true}`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, strings.NewReader(body+"}"))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", rand.Text())
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	responseBody, err = io.ReadAll(response.Body)
	return response.StatusCode, responseBody, err
}
