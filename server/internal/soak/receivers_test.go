package soak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender/faultserver"
)

// receivers are servers that take webhooks, each an origin of its own. They check what a receiver
// is promised with every request: the signature, one id and the same bytes for every attempt of an
// event, and the order of the events of a subject, none of which comes before the one before it was
// accepted, nor while another of the subject is being answered. That nothing was lost is checked at
// the end, by wantEverything.
type receivers struct {
	t      *testing.T
	secret webhook.Secret
	urls   []string
	// answer gives the status of an answer, once there is one. Default: 204 at once.
	answer func(a arrival) (status int)

	mu         sync.Mutex
	bell       bell
	subjects   map[string]*received
	daemons    int // that were killed
	arrivals   int
	accepted   int // events
	duplicates int // arrivals of events that had been accepted
	held       int // requests that are not answered yet
}

// received is what came for a subject.
type received struct {
	events []*event // by sequence
	held   bool     // one is being answered
	daemon int      // that sent that one
}

type event struct {
	id, status string
	body       []byte
	arrivals   int
	accepted   bool
}

// arrival is one request.
type arrival struct {
	receiver int
	subject  string
	sequence int
	attempt  int // 1 for the first that came of its event
}

func receive(d *deployment, origins int, answer func(arrival) int) *receivers {
	d.t.Helper()
	r := &receivers{t: d.t, secret: d.secret, subjects: make(map[string]*received), answer: answer}
	if answer == nil {
		r.answer = func(arrival) int { return http.StatusNoContent }
	}
	for i := range origins {
		fault := faultserver.Func(func(ctx context.Context, conn net.Conn, request faultserver.Request) bool {
			return r.serve(ctx, conn, request, i)
		})
		server := faultserver.New(d.t, faultserver.Config{Script: faultserver.InOrder(fault), Keep: -1})
		r.urls = append(r.urls, server.URL()+"/hooks")
	}
	return r
}

// held is an answer that waits until release is called, and gives status to those who have waited.
// Later it is 204 at once. The end of the test ends the wait.
func (d *deployment) held(status int) (answer func(arrival) int, release func()) {
	released := make(chan struct{})
	return func(arrival) int {
		select {
		case <-released:
			return http.StatusNoContent
		default:
		}
		select {
		case <-released:
		case <-d.t.Context().Done():
		}
		return status
	}, func() { close(released) }
}

// inFlightTo starts a daemon that has as many requests in flight as it may have, by an answer that
// holds them, of subjects with two events each. It has four times as many events.
func inFlightTo(d *deployment, origins int, answer func(arrival) int) (*receivers, *daemon) {
	d.t.Helper()
	r := receive(d, origins, answer)
	d.seed(2*inFlight, 2, r.urls...)
	p := d.start()
	r.waitArrivals(origins * inFlight)
	return r, p
}

func (r *receivers) serve(ctx context.Context, conn net.Conn, request faultserver.Request, receiver int) bool {
	a, ok := r.arrive(request, receiver)
	status := http.StatusBadRequest
	if ok {
		status = r.answer(a)
		r.accept(a, status)
	}
	if status == 0 {
		return false
	}
	response := http.Response{ProtoMajor: 1, ProtoMinor: 1, StatusCode: status}
	return ctx.Err() == nil && response.Write(conn) == nil
}

// arrive checks a request. What it finds fails the test.
func (r *receivers) arrive(request faultserver.Request, receiver int) (a arrival, ok bool) {
	if err := webhook.Verify(request.Header, request.Body, time.Now(), r.secret); err != nil {
		r.t.Error(err)
		return a, false
	}
	var body struct {
		Data struct {
			AvatarID    string `json:"avatar_id"`
			InferenceID string `json:"inference_id"`
			Status      string `json:"status"`
		} `json:"data"`
	}
	if err := json.Unmarshal(request.Body, &body); err != nil {
		r.t.Errorf("%s: %v", request.Body, err)
		return a, false
	}
	id := request.Header.Get(webhook.HeaderID)
	sequence, err := strconv.Atoi(request.Header.Get(webhook.HeaderSequence))
	a = arrival{receiver: receiver, subject: body.Data.AvatarID + body.Data.InferenceID, sequence: sequence}
	if err != nil || a.subject == "" || sequence < 1 {
		r.t.Errorf("%s comes with the sequence %d: %v", request.Body, sequence, err)
		return a, false
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.bell.ring()
	r.arrivals++
	r.held++
	s := r.subjects[a.subject]
	if s == nil {
		s = &received{}
		r.subjects[a.subject] = s
	}
	if s.held && s.daemon == r.daemons {
		r.t.Errorf("event %d of %s comes while another is being answered", sequence, a.subject)
	}
	s.held, s.daemon = true, r.daemons
	switch {
	case sequence == len(s.events)+1 && (sequence == 1 || s.events[sequence-2].accepted):
		s.events = append(s.events, &event{id: id, body: request.Body, status: body.Data.Status})
	case sequence != len(s.events):
		r.t.Errorf("event %d of %s comes when %d have come", sequence, a.subject, len(s.events))
		return a, false
	}
	e := s.events[sequence-1]
	if e.id != id || !bytes.Equal(e.body, request.Body) {
		r.t.Errorf("event %d of %s is %s %s and %s %s", sequence, a.subject, e.id, e.body, id, request.Body)
	}
	if e.accepted {
		r.duplicates++
	}
	e.arrivals++
	a.attempt = e.arrivals
	return a, true
}

// accept keeps what is about to be answered.
func (r *receivers) accept(a arrival, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.bell.ring()
	r.held--
	s := r.subjects[a.subject]
	s.held = false
	e := s.events[a.sequence-1]
	if status/100 == 2 && !e.accepted {
		e.accepted = true
		r.accepted++
	}
}

// killed says that what the daemons sent until now has no end.
func (r *receivers) killed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.daemons++
}

// wait waits for what holds at some arrival or answer.
func (r *receivers) wait(what string, holds func() bool) {
	r.t.Helper()
	ctx, cancel := untilDone(r.t)
	defer cancel()
	if err := r.bell.wait(ctx, &r.mu, holds); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.t.Fatalf("%s did not come true: %d requests came, %d of them held, and %d events are accepted",
			what, r.arrivals, r.held, r.accepted)
	}
}

func (r *receivers) waitArrivals(n int) {
	r.t.Helper()
	r.wait(strconv.Itoa(n)+" requests", func() bool { return r.arrivals >= n })
}

func (r *receivers) waitAccepted(n int) {
	r.t.Helper()
	r.wait(strconv.Itoa(n)+" accepted events", func() bool { return r.accepted >= n })
}

func (r *receivers) count() (arrivals, accepted, duplicates int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrivals, r.accepted, r.duplicates
}

// wantEverything checks, when no daemon runs any more, that every event in the database came with
// its bytes, was accepted and is known to be, that nothing else came, that avatars went through
// their states in order, that the rows keep every rule, and how many events came again after they had been accepted.
func (r *receivers) wantEverything(d *deployment, events, mostDuplicates int) {
	r.t.Helper()
	broken, err := studiotest.Open(r.t, d.dsn).Check(r.t.Context())
	check(r.t, err)
	for _, rule := range broken {
		r.t.Error(rule)
	}
	db := studiotest.OpenSQL(r.t, d.dsn)
	rows, err := db.QueryContext(r.t.Context(), `SELECT subject_id, sequence, id, body, state FROM events ORDER BY subject_id, sequence`)
	check(r.t, err)
	defer func() { _ = rows.Close() }()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := 0
	for ; rows.Next(); known++ {
		var subject, id, state string
		var sequence int
		var body []byte
		check(r.t, rows.Scan(&subject, &sequence, &id, &body, &state))
		s := r.subjects[subject]
		if s == nil || len(s.events) < sequence {
			r.t.Fatalf("event %d of %s is lost; it is %s", sequence, subject, state)
		}
		if e := s.events[sequence-1]; e.id != id || !bytes.Equal(e.body, body) || !e.accepted || state != string(store.Delivered) {
			r.t.Errorf("event %d of %s is %s, accepted %v, and came as %s %s", sequence, subject, state, e.accepted, e.id, e.body)
		}
	}
	check(r.t, rows.Err())
	if known != events || r.accepted != events {
		r.t.Errorf("%d events are in the database and %d were accepted, want %d", known, r.accepted, events)
	}
	for id, s := range r.subjects {
		if strings.HasPrefix(id, seedPrefix) {
			continue
		}
		var statuses []string
		for _, e := range s.events {
			statuses = append(statuses, e.status)
		}
		if !slices.Equal(statuses, []string{"processing", "consent_pending", "published"}) {
			r.t.Errorf("an avatar was %s", statuses)
		}
	}
	if r.duplicates > mostDuplicates {
		r.t.Errorf("%d events came again after they had been accepted, want at most %d", r.duplicates, mostDuplicates)
	}
	r.t.Logf("%d events in %d requests, %d of them again after they had been accepted", r.accepted, r.arrivals, r.duplicates)
}
