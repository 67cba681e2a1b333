package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// readyTimeout is the timeout of all checks of /readyz.
	readyTimeout = 2 * time.Second
	// databaseInterval and mediaInterval are how long the success of a check is reused, and failureInterval its
	// failure. A bucket may charge for each write.
	databaseInterval = time.Second
	mediaInterval    = 15 * time.Second
	failureInterval  = time.Second
)

// readiness is the response of /healthz and /readyz.
type readiness struct {
	Status      string            `json:"status"`
	Certificate *certificateState `json:"certificate,omitempty"`
}

// certificateState is the state of the certificate of --domain.
type certificateState struct {
	Expires     time.Time `json:"expires,omitzero"`      // zero if there is none yet
	NextAttempt time.Time `json:"next_attempt,omitzero"` // after a failure
}

// readyCheck is a condition of readiness.
type readyCheck struct {
	fails string // the status if it is not met
	check func(ctx context.Context) error
}

// readyChecks returns the conditions of readiness. The daemon is open.
func (d *daemon) readyChecks() []readyCheck {
	database := newProbe(d.store.Ready, databaseInterval)
	checks := []readyCheck{
		{"database not migrated", func(ctx context.Context) error {
			if err := database(ctx); errors.Is(err, store.ErrNotMigrated) {
				return err
			}
			return nil
		}},
		{"database unavailable", database},
		{"database not writable", newProbe(d.store.CheckWritable, databaseInterval)},
	}
	if d.deliver != nil {
		checks = append(checks, readyCheck{"no lease for deliveries", func(context.Context) error { return unless(d.deliver.HoldsLease()) }})
	}
	if d.media != nil {
		checks = append(checks, readyCheck{"media not writable", newProbe(d.media.CheckWritable, mediaInterval)})
	}
	if d.certificate != nil {
		checks = append(checks, readyCheck{"no valid certificate", func(context.Context) error { return unless(time.Now().Before(d.certificate.Expires())) }})
	}
	return checks
}

// unless returns an error without a cause if a condition is not met.
func unless(met bool) error {
	if met {
		return nil
	}
	return errors.New("the condition is not met")
}

// newProbe returns a check that runs check if its last success ended an interval ago, or its last failure
// failureInterval ago. There is one run at a time, whose result all callers share, and it ends after readyTimeout if it
// respects its context.
func newProbe(check func(ctx context.Context) error, interval time.Duration) func(ctx context.Context) error {
	var runs singleflight.Group
	last, until := error(nil), time.Time{}
	return func(ctx context.Context) error {
		ended := runs.DoChan("", func() (any, error) {
			if time.Now().After(until) {
				run, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout) // other callers share the result
				defer cancel()
				last, until = check(run), time.Now().Add(interval)
				if last != nil {
					until = time.Now().Add(failureInterval)
				}
			}
			return nil, last
		})
		select {
		case result := <-ended:
			return result.Err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ready responds with 200 if all conditions are met. Waiting work is none: all daemons on a database share the queues,
// so one receiver that is down would make all of them unready.
func (a *admin) ready(w http.ResponseWriter, r *http.Request) {
	state := a.state.Load()
	body := readiness{Status: state.name}
	if state.acme != nil {
		body.Certificate = &certificateState{state.acme.Expires(), state.acme.Retry()}
	}
	if len(state.checks) == 0 { // it starts or stops
		writeState(w, http.StatusServiceUnavailable, body)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	for _, c := range state.checks {
		if err := c.check(ctx); err != nil {
			body.Status = c.fails
			a.report(r.Context(), body.Status, err)
			writeState(w, http.StatusServiceUnavailable, body)
			return
		}
	}
	a.report(r.Context(), body.Status, nil)
	writeState(w, http.StatusOK, body)
}

// report logs a status that differs from the last one. The response of /readyz does not have the cause.
func (a *admin) report(ctx context.Context, status string, cause error) {
	if ctx.Err() != nil { // the client has left, which may be the cause
		return
	}
	last := a.reported.Swap(&status)
	switch {
	case last != nil && *last == status:
	case cause != nil:
		a.logger.WarnContext(ctx, "not ready", "status", status, "err", cause)
	case last != nil:
		a.logger.InfoContext(ctx, "ready again")
	}
}

func writeState(w http.ResponseWriter, status int, body readiness) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}
