package webhook_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

func withID(id string) http.Header {
	return http.Header{webhook.HeaderID: {id}}
}

// answering returns a Receiver that accepts every notification and calls callback for it.
func answering(t testing.TB, callback func(context.Context) error) *webhook.Receiver {
	t.Helper()
	return newReceiver(t, webhook.Handlers{Unhandled: func(ctx context.Context, _ gen.Event, _ webhook.Delivery) error {
		return callback(ctx)
	}}, webhook.Unverified())
}

func TestReceiver_dropsDuplicates(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	type delivery struct {
		id  string
		err error // result of the callback
	}
	for name, test := range map[string]struct {
		claims     func(*webhook.Receiver)
		deliveries []delivery
		calls      int
	}{
		"same id":               {nil, []delivery{{"a", nil}, {"a", nil}, {"a", nil}}, 1},
		"no id":                 {nil, []delivery{{"", nil}, {"", nil}}, 2},
		"again after a failure": {nil, []delivery{{"a", boom}, {"a", boom}, {"a", nil}, {"a", nil}}, 3},
		"without claims":        {func(r *webhook.Receiver) { r.Claims = nil }, []delivery{{"a", nil}, {"a", nil}}, 2},
		// Claims keep the latest ids.
		"more than remembered": {func(r *webhook.Receiver) { r.Claims = webhook.NewMemoryClaims(2) }, []delivery{{"a", nil}, {"b", nil}, {"c", nil}, {"b", nil}, {"d", nil}, {"e", nil}, {"a", nil}, {"d", nil}}, 6},
		"no room for failures": {func(r *webhook.Receiver) { r.Claims = webhook.NewMemoryClaims(2) }, []delivery{{"a", boom}, {"a", nil}, {"b", nil}, {"a", nil}, {"b", nil}}, 3},
	} {
		var result error
		calls := 0
		receiver := answering(t, func(context.Context) error { calls++; return result })
		if test.claims != nil {
			test.claims(receiver)
		}
		for i, d := range test.deliveries {
			result = d.err
			if err := receiver.Handle(t.Context(), withID(d.id), []byte(unlisted)); !errors.Is(err, d.err) {
				t.Errorf("%s: delivery %d: error %v, want %v", name, i, err, d.err)
			}
		}
		if calls != test.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, test.calls)
		}
	}
}

// While a callback runs, the receiver responds with 503 to the same notification. Afterwards it drops the
// duplicate.
func TestReceiver_respondsWith503WhileTheCallbackRuns(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	receiver := answering(t, func(context.Context) error {
		close(started)
		<-finish
		return nil
	})
	deliver := func() *httptest.ResponseRecorder {
		return serve(t, receiver, http.MethodPost, "/", withID("a"), strings.NewReader(unlisted))
	}
	var first sync.WaitGroup
	first.Go(func() {
		if answer := deliver(); answer.Code != http.StatusNoContent {
			t.Errorf("first: %d", answer.Code)
		}
	})
	<-started
	if answer := deliver(); answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "1" || answer.Body.Len() != 0 {
		t.Errorf("in work: %d, %v, %q", answer.Code, answer.Header(), answer.Body)
	}
	if err := receiver.Handle(t.Context(), withID("a"), []byte(unlisted)); !errors.Is(err, webhook.ErrInProgress) {
		t.Errorf("in work: error %v", err)
	}
	close(finish)
	first.Wait()
	if answer := deliver(); answer.Code != http.StatusNoContent || answer.Header().Get("Retry-After") != "" {
		t.Errorf("done: %d, %v", answer.Code, answer.Header())
	}
}

func TestReceiver_handlesConcurrentDuplicatesOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	claims := webhook.NewMemoryClaims(0)
	var deliveries sync.WaitGroup
	for range 64 {
		// Receivers that share their claims work like one receiver.
		receiver := answering(t, func(context.Context) error { calls.Add(1); return nil })
		receiver.Claims = claims
		deliveries.Go(func() {
			if err := receiver.Handle(t.Context(), withID("a"), []byte(unlisted)); err != nil && !errors.Is(err, webhook.ErrInProgress) {
				t.Error(err)
			}
		})
	}
	deliveries.Wait()
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// A notification that is refused does not use up its id.
func TestReceiver_claimsOnlyVerifiedNotifications(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	called := &recorder{}
	receiver := newReceiver(t, called.handlers(), webhook.StandardWebhooks(secret))
	body, malformed := []byte(unlisted), []byte(`{"event_type":"avatar_event"}`)
	harness.WantError(t, receiver.Handle(t.Context(), signed(t, "a", body, webhook.NewSecret()), body), webhook.ErrRefused)
	harness.WantError(t, receiver.Handle(t.Context(), signed(t, "a", malformed, secret), malformed), webhook.ErrMalformed)
	if err := receiver.Handle(t.Context(), signed(t, "a", body, secret), body); err != nil || len(called.calls) != 1 {
		t.Errorf("error %v after %d calls", err, len(called.calls))
	}
}

// brokenClaims fails in the methods that a test names, and records its calls.
type brokenClaims struct {
	result                 webhook.ClaimResult
	claim, commit, release error
	asked                  string
	ended                  error // error of the context of Commit and Release
}

func (b *brokenClaims) Claim(context.Context, string) (webhook.ClaimResult, error) {
	return b.result, b.claim
}

func (b *brokenClaims) Commit(ctx context.Context, id string) error {
	b.asked, b.ended = "commit "+id, ctx.Err()
	return b.commit
}

func (b *brokenClaims) Release(ctx context.Context, id string) error {
	b.asked, b.ended = "release "+id, ctx.Err()
	return b.release
}

func TestReceiver_survivesFailingClaims(t *testing.T) {
	t.Parallel()
	boom, lost := errors.New("boom"), errors.New("connection lost")
	for name, test := range map[string]struct {
		claims   brokenClaims
		callback error
		asked    string
		want     []error // nil for a success
		status   int
	}{
		"claim fails":                    {brokenClaims{claim: lost}, nil, "", []error{webhook.ErrClaims, lost}, 500},
		"claim held":                     {brokenClaims{claim: webhook.ErrInProgress}, nil, "", []error{webhook.ErrClaims}, 500},
		"no result":                      {brokenClaims{}, nil, "", []error{webhook.ErrClaims}, 500},
		"done":                           {brokenClaims{result: webhook.Done}, boom, "", nil, 204},
		"claimed by another caller":      {brokenClaims{result: webhook.InProgress}, boom, "", []error{webhook.ErrInProgress}, 503},
		"commit fails":                   {brokenClaims{result: webhook.Claimed, commit: lost}, nil, "commit a", nil, 204},
		"release fails":                  {brokenClaims{result: webhook.Claimed, release: lost}, boom, "release a", []error{webhook.ErrCallback, boom}, 500},
		"callback returns ErrInProgress": {brokenClaims{result: webhook.Claimed}, webhook.ErrInProgress, "release a", []error{webhook.ErrCallback}, 500},
	} {
		// The service closes the connection while the callback runs. The claim is committed or
		// released all the same.
		ctx, hangUp := context.WithCancel(t.Context())
		receiver := answering(t, func(context.Context) error { hangUp(); return test.callback })
		receiver.Claims = &test.claims
		err := receiver.Handle(ctx, withID("a"), []byte(unlisted))
		if test.want == nil && err != nil {
			t.Errorf("%s: error %v", name, err)
		}
		for _, want := range test.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v is not %v", name, err, want)
			}
		}
		if test.claims.asked != test.asked || test.claims.ended != nil {
			t.Errorf("%s: asked %q with a context that has %v, want %q", name, test.claims.asked, test.claims.ended, test.asked)
		}
		hangUp()
		answer := serve(t, receiver, http.MethodPost, "/", withID("a"), strings.NewReader(unlisted))
		if answer.Code != test.status {
			t.Errorf("%s: status %d, want %d", name, answer.Code, test.status)
		}
	}
}

func TestNewMemoryClaims(t *testing.T) {
	t.Parallel()
	for size, kept := range map[int]int{2: 2, 0: 10_000} {
		ctx, claims := t.Context(), webhook.NewMemoryClaims(size)
		want := func(others int, when string, want webhook.ClaimResult) {
			t.Helper()
			for range others {
				harness.Try(claims.Claim(ctx, rand.Text()))(t)
			}
			if got, err := claims.Claim(ctx, "a"); got != want || err != nil {
				t.Errorf("%s, of %d: %v, error %v, want %v", when, kept, got, err, want)
			}
		}
		want(0, "at first", webhook.Claimed)
		want(kept, "taken", webhook.InProgress)
		check(t, claims.Release(ctx, "a"))
		want(1, "released", webhook.Claimed)
		check(t, claims.Commit(ctx, "a"))
		want(kept-1, "committed", webhook.Done)
		check(t, claims.Release(ctx, "never claimed"))
		want(kept+1, "forgotten", webhook.Claimed)
	}
}
