package soak_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// receivers are webhook receivers, each with its own origin. With every request they check the promises about
// deliveries: the signature is valid, all attempts of an event have the same id and body, an event is sent after
// the previous event of its subject was accepted, and a subject has one request at a time. At the end,
// wantAllDelivered checks that no event was lost.
type receivers struct {
	t      *testing.T
	secret webhook.Secret
	urls   []string
	// answer returns the status of the response, or 0 to close the connection. It may block. Default: 204.
	answer func(a arrival) (status int)

	mu         sync.Mutex
	subjects   map[string]*subjectState
	generation int // incremented by abandonUnanswered
	arrivals   int
	accepted   int // events, not requests
	duplicates int // requests with an event that was accepted before
	unanswered int // requests
}

// subjectState is what was received for a subject.
type subjectState struct {
	events     []*event // by sequence
	unanswered bool     // the latest request is not answered
	generation int      // of the latest request
}

type event struct {
	id, status string
	body       []byte
	arrivals   int
	accepted   bool
}

// arrival is a request that a receiver got.
type arrival struct {
	receiver int
	subject  string
	sequence int
	attempt  int // 1 for the first request with the event
}

func receive(d *deployment, origins int, answer func(arrival) int) *receivers {
	d.t.Helper()
	r := &receivers{t: d.t, secret: d.secret, subjects: make(map[string]*subjectState), answer: answer}
	if answer == nil {
		r.answer = func(arrival) int { return http.StatusNoContent }
	}
	for i := range origins {
		server := faultserver.New(d.t, faultserver.Func(func(w http.ResponseWriter, request *http.Request) { r.serve(w, request, i) }))
		r.urls = append(r.urls, server.URL()+"/hooks")
	}
	return r
}

// blockingAnswer returns an answer function that blocks until release is called and then returns status. Calls after
// release return 204 at once. The end of the test also ends the calls.
func (d *deployment) blockingAnswer(status int) (answer func(arrival) int, release func()) {
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

// startAtInFlightLimit starts a daemon with four times as many events as it may have in flight, in subjects of two
// events each. It returns when the maximum is in flight. answer must block.
func startAtInFlightLimit(d *deployment, origins int, answer func(arrival) int) (*receivers, *harness.Daemon) {
	d.t.Helper()
	r := receive(d, origins, answer)
	d.seed(2*inFlight, 2, r.urls...)
	p := d.start()
	r.waitArrivals(origins * inFlight)
	return r, p
}

func (r *receivers) serve(w http.ResponseWriter, request *http.Request, receiver int) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	a, ok := r.arrive(request.Header, body, receiver)
	status := http.StatusBadRequest
	if ok {
		status = r.answer(a)
		r.accept(a, status)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}

// arrive checks and counts a request. It returns false, and fails the test, if the request is invalid.
func (r *receivers) arrive(header http.Header, sent []byte, receiver int) (a arrival, ok bool) {
	if err := webhook.Verify(header, sent, time.Now(), r.secret); err != nil {
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
	if err := json.Unmarshal(sent, &body); err != nil {
		r.t.Errorf("%s: %v", sent, err)
		return a, false
	}
	id := header.Get(webhook.HeaderID)
	sequence, err := strconv.Atoi(header.Get(webhook.HeaderSequence))
	a = arrival{receiver: receiver, subject: body.Data.AvatarID + body.Data.InferenceID, sequence: sequence}
	if err != nil || a.subject == "" || sequence < 1 {
		r.t.Errorf("the body %s has the sequence %d: %v", sent, sequence, err)
		return a, false
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrivals++
	r.unanswered++
	s := r.subjects[a.subject]
	if s == nil {
		s = &subjectState{}
		r.subjects[a.subject] = s
	}
	if s.unanswered && s.generation == r.generation {
		r.t.Errorf("event %d of %s arrives while another request of the subject is unanswered", sequence, a.subject)
	}
	s.unanswered, s.generation = true, r.generation
	switch {
	case sequence == len(s.events)+1 && (sequence == 1 || s.events[sequence-2].accepted):
		s.events = append(s.events, &event{id: id, body: sent, status: body.Data.Status})
	case sequence != len(s.events):
		r.t.Errorf("event %d of %s arrives after %d events", sequence, a.subject, len(s.events))
		return a, false
	}
	e := s.events[sequence-1]
	if e.id != id || !bytes.Equal(e.body, sent) {
		r.t.Errorf("event %d of %s is %s %s, and then %s %s", sequence, a.subject, e.id, e.body, id, sent)
	}
	if e.accepted {
		r.duplicates++
	}
	e.arrivals++
	a.attempt = e.arrivals
	return a, true
}

// accept records a response that is about to be sent.
func (r *receivers) accept(a arrival, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unanswered--
	s := r.subjects[a.subject]
	s.unanswered = false
	e := s.events[a.sequence-1]
	if status/100 == 2 && !e.accepted {
		e.accepted = true
		r.accepted++
	}
}

// abandonUnanswered allows new requests of subjects with unanswered requests, whose daemon was killed or frozen.
func (r *receivers) abandonUnanswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
}

// wait waits until condition, which is called with the lock, is true.
func (r *receivers) wait(what string, condition func() bool) {
	r.t.Helper()
	locked := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return condition()
	}
	if !harness.Poll(r.t.Context(), time.Duration(*scale)*harness.Timeout, locked) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.t.Fatalf("timeout: %s. %d requests arrived, %d of them are unanswered, and %d events are accepted",
			what, r.arrivals, r.unanswered, r.accepted)
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

// wantAllDelivered checks the final state after all daemons have stopped. Every stored event was received with its
// body, was accepted, and has the state delivered; no other events were received. The events of each avatar are in
// order. The rows are consistent. At most maxDuplicates events were received again after they were accepted.
func (r *receivers) wantAllDelivered(d *deployment, events, maxDuplicates int) {
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
			r.t.Fatalf("event %d of %s was not received; its state is %s", sequence, subject, state)
		}
		if e := s.events[sequence-1]; e.id != id || !bytes.Equal(e.body, body) || !e.accepted || state != string(studio.EventDelivered) {
			r.t.Errorf("event %d of %s is %s, accepted %v, and was received as %s %s", sequence, subject, state, e.accepted, e.id, e.body)
		}
	}
	check(r.t, rows.Err())
	if known != events || r.accepted != events {
		r.t.Errorf("%d events are stored and %d were accepted, want %d", known, r.accepted, events)
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
			r.t.Errorf("the states of an avatar are %s", statuses)
		}
	}
	if r.duplicates > maxDuplicates {
		r.t.Errorf("%d events are duplicated, want at most %d", r.duplicates, maxDuplicates)
	}
	r.t.Logf("%d events in %d requests, %d of them duplicates", r.accepted, r.arrivals, r.duplicates)
}
