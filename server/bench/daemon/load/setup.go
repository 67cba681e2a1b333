package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

const (
	maxLatency     = 100 * time.Millisecond // p99 of a sustained rate
	maxDelay       = time.Second            // of every event at a sustained rate
	drainTimeout   = 5 * time.Minute        // for events after the last request
	scrapeInterval = 5 * time.Second        // of the metrics
	warmUp         = 10 * time.Second       // after which memory should not grow
	maxTries       = 5                      // of a rate, while other programs use the machine
	maxOthersCPU   = 0.3                    // CPUs that other programs may use
)

// setup is a database with a daemon, its users and their receivers.
type setup struct {
	plan
	progress  io.Writer
	directory string
	program   string
	profile   string // directory for CPU profiles; "" for none

	db        *measure.Database
	daemon    *daemon
	users     []*user
	receivers *receivers
	pool      *pool
	bare      int // process ID of the bare handler while it is measured; otherwise 0
}

// result is the result of one rate.
type result struct {
	rate       int // requests per second
	requests   int
	latencies  []time.Duration
	errors     int
	firstError string
	delays     []time.Duration // of events
	usage      usage
	warmMemory int64 // bytes after the warm-up
	endMemory  int64 // bytes at the end
}

func (s *result) sustained() bool {
	return s.errors == 0 && measure.Percentile(s.latencies, 99) <= maxLatency && measure.Percentile(s.delays, 100) <= maxDelay
}

func (s *result) String() string {
	text := fmt.Sprintf("%d/s: p50 %s, p99 %s, max %s", s.rate, measure.Milliseconds(measure.Percentile(s.latencies, 50)),
		measure.Milliseconds(measure.Percentile(s.latencies, 99)), measure.Milliseconds(measure.Percentile(s.latencies, 100)))
	if len(s.delays) > 0 {
		text += "; events max " + measure.Milliseconds(measure.Percentile(s.delays, 100))
	}
	if s.errors > 0 {
		text += fmt.Sprintf("; %d of %d failed, first with: %s", s.errors, s.requests, s.firstError)
	}
	return text + "; CPU: " + s.usage.String()
}

// requestFunc sends the i-th request. It returns the id of a created lip-sync, or "".
type requestFunc func(ctx context.Context, i int) (id string, err error)

// measureRate measures a rate. It repeats the measurement if the rate is not sustained while other programs use the
// machine.
func (s *setup) measureRate(ctx context.Context, rate int, d time.Duration, do requestFunc) (r *result, err error) {
	for range maxTries {
		if err := waitIdle(ctx, s.idleWait); err != nil {
			return nil, err
		}
		r, err = s.runLoad(ctx, rate, d, do)
		if err != nil || r.sustained() || r.usage.others < time.Duration(float64(r.usage.took)*maxOthersCPU) {
			break
		}
		fmt.Fprintf(s.progress, "  with other load: %v\n", r)
	}
	return r, err
}

// runLoad sends requests at a rate for d, and waits for the events of all created lip-syncs.
func (s *setup) runLoad(ctx context.Context, rate int, d time.Duration, do requestFunc) (*result, error) {
	all := arrivals(rate, d)
	r := &result{rate: rate, requests: len(all), latencies: make([]time.Duration, len(all))}
	dueTimes, ids := make([]time.Time, len(all)), make([]string, len(all))
	var mu sync.Mutex
	s.writeProfile(ctx, rate, d)
	warmMemory := make(chan int64, 1)
	time.AfterFunc(warmUpOf(d), func() { warmMemory <- s.memory() })
	used := s.startUsage()
	openLoop(ctx, all, func(i int, due time.Time) {
		id, err := do(ctx, i)
		r.latencies[i], dueTimes[i], ids[i] = time.Since(due), due, id
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if r.errors++; r.firstError == "" {
				r.firstError = err.Error()
			}
		}
	})
	r.usage, r.warmMemory, r.endMemory = used(), <-warmMemory, s.memory()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	created := 0
	for _, id := range ids {
		if id != "" {
			created++
		}
	}
	receivedAt, err := s.receivers.waitAll(ctx, created, drainTimeout)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if id == "" {
			continue
		}
		at, ok := receivedAt[id]
		if !ok && r.errors == 0 {
			return nil, fmt.Errorf("the event of %s is lost", id)
		}
		r.delays = append(r.delays, at.Sub(dueTimes[i]))
	}
	s.receivers.reset()
	return r, nil
}

// create creates a lip-sync with a webhook. The users take turns.
func (s *setup) create(ctx context.Context, i int) (id string, err error) {
	n := i % len(s.users)
	u := s.users[n]
	body := `{"title":"Greeting","video_url":"https://media.example.com/ada.mp4","audio_url":"https://media.example.com/hello.wav",` +
		`"webhook_data":{"webhook_url":"` + s.receivers.urls[n] + `"},"webhook":{"enabled":true}}`
	status, response, err := s.pool.send(ctx, rawRequest(http.MethodPost, "/v1/lipsync/create_lipsync", u.authorization()+"Idempotency-Key: "+rand.Text()+"\r\n", body))
	if err != nil {
		return "", err
	}
	_, after, found := bytes.Cut(response, []byte(`"inference_id":"`))
	created, _, _ := bytes.Cut(after, []byte(`"`))
	if status != http.StatusOK || !found {
		return "", fmt.Errorf("status %d: %.200s", status, response)
	}
	return string(created), nil
}

// list returns a function that lists the projects of a user. The users take turns.
func (s *setup) list(p *pool) requestFunc {
	return func(ctx context.Context, i int) (string, error) {
		status, response, err := p.send(ctx, s.listRequest(i))
		if err != nil {
			return "", err
		}
		if n := bytes.Count(response, []byte(`"project_id"`)); status != http.StatusOK || n != projectsPerUser {
			return "", fmt.Errorf("status %d with %d projects: %.200s", status, n, response)
		}
		return "", nil
	}
}

func (s *setup) listRequest(i int) string {
	u := s.users[i%len(s.users)]
	return rawRequest(http.MethodGet, "/projects/v2", u.authorization()+"X-Workspace-Id: "+u.workspace+"\r\n", "")
}

// measure returns all figures of one database.
func (s *setup) measure(ctx context.Context, kind *measure.Databases) (figures []figure, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	directory, err := os.MkdirTemp(s.directory, strings.ToLower(kind.Name))
	if err != nil {
		return nil, err
	}
	if s.db, err = kind.Create(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.db.Drop()) }() //nolint:contextcheck // ctx may be done
	if s.users, err = addUsers(ctx, s.db.DSN, s.plan.users); err != nil {
		return nil, err
	}
	if err := waitIdle(ctx, s.idleWait); err != nil {
		return nil, err
	}
	floor, err := s.db.Floor(ctx, s.floorDuration)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.progress, "  floor: %.0f/s\n", floor)
	if s.daemon, err = startDaemon(ctx, s.program, s.db.DSN, directory); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = s.daemon.WithLog(err)
		}
		err = errors.Join(err, s.daemon.Stop())
	}()
	if err := s.daemon.login(ctx, s.users); err != nil {
		return nil, err
	}
	if s.receivers, err = startReceivers(ctx, s.users); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.receivers.close()) }()
	stop := s.daemon.scrapeMetrics(ctx, scrapeInterval)
	defer func() { err = errors.Join(err, stop()) }()
	s.pool = newPool(s.daemon.address())
	defer s.pool.close()
	creations, err := s.measureCreations(ctx, floor)
	if err != nil {
		return nil, err
	}
	lists, err := s.measureLists(ctx)
	return append(creations, lists...), err
}

// warmUpOf returns the duration of the warm-up in a measurement of duration d.
func warmUpOf(d time.Duration) time.Duration { return min(warmUp, d/2) }

// memory returns the memory of studiod and the database server, in bytes.
func (s *setup) memory() int64 {
	return harness.TreeMemory(s.daemon.PID()) + harness.TreeMemory(s.db.Postmaster)
}

// writeProfile starts to write a CPU profile of duration d, if s.profile is set.
func (s *setup) writeProfile(ctx context.Context, rate int, d time.Duration) {
	if s.profile == "" {
		return
	}
	go func() {
		data, err := s.daemon.get(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", max(1, int(d.Seconds()))))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.profile, fmt.Sprintf("%s-%d.cpu", s.db.Name, rate)), data, 0o600)
		}
		if err != nil {
			fmt.Fprintln(s.progress, "cannot write profile:", err)
		}
	}()
}
