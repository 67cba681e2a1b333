package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// recorder records the arguments of the callbacks.
type recorder struct {
	calls []any
	err   error
}

func (r *recorder) handlers() webhook.Handlers {
	return webhook.Handlers{
		Avatar:           record[gen.AvatarEvent](r),
		AvatarInference:  record[gen.AvatarInferenceEvent](r),
		LipsyncInference: record[gen.LipsyncInferenceEvent](r),
		Unhandled:        record[gen.Event](r),
	}
}

func record[E any](r *recorder) func(context.Context, E, webhook.Delivery) error {
	return func(_ context.Context, event E, _ webhook.Delivery) error {
		r.calls = append(r.calls, event)
		return r.err
	}
}

func newReceiver(t testing.TB, handlers webhook.Handlers, verifier webhook.Verifier) *webhook.Receiver {
	t.Helper()
	receiver, err := webhook.NewReceiver(handlers, verifier)
	check(t, err)
	return receiver
}

// signed returns the header of a notification that is signed now.
func signed(t testing.TB, id string, body []byte, secret webhook.Secret) http.Header {
	t.Helper()
	header := http.Header{}
	check(t, webhook.Sign(header, id, time.Now(), body, secret))
	return header
}

// numbered returns the header of a notification with an id and a sequence.
func numbered(id, sequence string) http.Header {
	header := http.Header{}
	header.Set(webhook.HeaderID, id)
	header.Set(webhook.HeaderSequence, sequence)
	return header
}

// serve returns the response of a receiver to a request.
func serve(t *testing.T, receiver http.Handler, method, target string, header http.Header, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, body)
	request.Header = header
	response := httptest.NewRecorder()
	receiver.ServeHTTP(response, request)
	return response
}

func TestNewReceiver(t *testing.T) {
	t.Parallel()
	if _, err := webhook.NewReceiver(webhook.Handlers{}, webhook.Unverified()); err == nil {
		t.Error("all callbacks may be nil")
	}
	if _, err := webhook.NewReceiver((&recorder{}).handlers(), nil); err == nil {
		t.Error("the verifier may be nil")
	}
}

func TestReceiver_ServeHTTP(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	const published = `{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"published"}}`
	isPublished := []any{gen.AvatarEvent{EventType: "avatar_event", Data: gen.AvatarEventData{AvatarID: "a-1", Status: "published"}}}
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		method   string
		body     string
		breaks   error // after the body
		mutate   func(http.Header)
		callback error
		status   int
		calls    []any
	}{
		"avatar": {body: published, status: 204, calls: isPublished},
		"video": {
			body: `{"event_type":"avatar_inference_event","data":{"inference_id":"i-1","status":"succeeded"}}`, status: 204,
			calls: []any{gen.AvatarInferenceEvent{EventType: "avatar_inference_event", Data: gen.InferenceEventData{InferenceID: "i-1", Status: "succeeded"}}},
		},
		"lip-sync": {
			body: `{"event_type":"lipsync_inference_event","data":{"inference_id":"i-2","status":"failed"}}`, status: 204,
			calls: []any{gen.LipsyncInferenceEvent{EventType: "lipsync_inference_event", Data: gen.InferenceEventData{InferenceID: "i-2", Status: "failed"}}},
		},
		"unknown status and members": {
			body: `{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"resting","since":1},"more":[]}`, status: 204,
			calls: []any{gen.AvatarEvent{EventType: "avatar_event", Data: gen.AvatarEventData{AvatarID: "a-1", Status: "resting"}}},
		},
		"unknown type": {
			body: `{"event_type":"voice_event","data":{"voice_id":"v-1"}}`, status: 204,
			calls: []any{gen.Event{EventType: "voice_event", Data: []byte(`{"voice_id":"v-1"}`)}},
		},
		"GET":        {method: http.MethodGet, status: 405},
		"1 MiB":      {body: published + strings.Repeat(" ", 1<<20-len(published)), status: 204, calls: isPublished},
		"over 1 MiB": {body: published + strings.Repeat(" ", 1<<20-len(published)+1), status: 413},
		// The service may retry if the body was too slow, but not if the connection broke.
		"too slow":        {body: published, breaks: fmt.Errorf("read tcp: %w", os.ErrDeadlineExceeded), status: 408},
		"breaks off":      {body: published, breaks: io.ErrUnexpectedEOF, status: 400},
		"unsigned":        {body: published, mutate: func(h http.Header) { h.Del(webhook.HeaderSignature) }, status: 401},
		"not JSON":        {body: "<html>", status: 400},
		"trailing data":   {body: published + published, status: 400},
		"no event_type":   {body: `{"data":{"avatar_id":"a-1","status":"published"}}`, status: 400},
		"no data":         {body: `{"event_type":"avatar_event"}`, status: 400},
		"data without id": {body: `{"event_type":"avatar_inference_event","data":{"status":"failed"}}`, status: 400},
		"a lip-sync's":    {body: `{"event_type":"lipsync_inference_event","data":{"status":"failed"}}`, status: 400},
		"a bad member":    {body: `{"event_type":"lipsync_inference_event","data":{"inference_id":"i-2","status":1}}`, status: 400},
		"failed callback": {body: published, callback: boom, status: 500, calls: isPublished},
		// The error of a callback does not change the status.
		"callback failed with a receiver's error": {
			body: `{"event_type":"x"}`, callback: webhook.ErrRefused, status: 500,
			calls: []any{gen.Event{EventType: "x"}},
		},
	} {
		called := &recorder{err: test.callback}
		header := signed(t, "id-1", []byte(test.body), secret)
		if test.mutate != nil {
			test.mutate(header)
		}
		method, body := test.method, io.Reader(strings.NewReader(test.body))
		if method == "" {
			method = http.MethodPost
		}
		if test.breaks != nil {
			body = io.MultiReader(body, iotest.ErrReader(test.breaks))
		}
		receiver := newReceiver(t, called.handlers(), webhook.StandardWebhooks(webhook.NewSecret(), secret))
		answer := serve(t, receiver, method, "/hook", header, body)
		if answer.Code != test.status || answer.Body.Len() != 0 {
			t.Errorf("%s: status %d, want %d; the answer says %q", name, answer.Code, test.status, answer.Body)
		}
		if allow := answer.Header().Get("Allow"); (allow == "POST") != (test.status == 405) {
			t.Errorf("%s: Allow %q", name, allow)
		}
		if diff := cmp.Diff(test.calls, called.calls); diff != "" {
			t.Errorf("%s: %v", name, diff)
		}
	}
}

func TestReceiver_callsUnhandledForNilCallbacks(t *testing.T) {
	t.Parallel()
	var got []gen.EventType
	handlers := webhook.Handlers{Avatar: func(context.Context, gen.AvatarEvent, webhook.Delivery) error {
		t.Error("the callback of another event is called")
		return nil
	}}
	for range 2 { // without Unhandled, and with it
		receiver := newReceiver(t, handlers, webhook.Unverified())
		for _, body := range []string{`{"event_type":"new","data":{}}`, `{"event_type":"lipsync_inference_event","data":{"inference_id":"i","status":"failed"}}`} {
			check(t, receiver.Handle(t.Context(), nil, []byte(body)))
		}
		handlers.Unhandled = func(_ context.Context, event gen.Event, _ webhook.Delivery) error {
			got = append(got, event.EventType)
			return nil
		}
	}
	if diff := cmp.Diff([]gen.EventType{"new", gen.EventTypeLipsyncInference}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReceiver_Delivery(t *testing.T) {
	t.Parallel()
	var got webhook.Delivery
	receiver := newReceiver(t, webhook.Handlers{Unhandled: func(_ context.Context, _ gen.Event, delivery webhook.Delivery) error {
		got = delivery
		return nil
	}}, webhook.Unverified())
	for name, test := range map[string]struct {
		header http.Header
		want   webhook.Delivery
	}{
		"all":       {http.Header{"Webhook-Id": {"e-1"}, "Webhook-Sequence": {"3"}, "Webhook-Timestamp": {"1765272000"}}, webhook.Delivery{ID: "e-1", Sequence: 3, Timestamp: time.Unix(1765272000, 0)}},
		"none":      {nil, webhook.Delivery{}},
		"malformed": {http.Header{"Webhook-Sequence": {"third"}, "Webhook-Timestamp": {"today"}}, webhook.Delivery{}},
		"negative":  {http.Header{"Webhook-Sequence": {"-3"}}, webhook.Delivery{}},
	} {
		if err := receiver.Handle(t.Context(), test.header, []byte(`{"event_type":"x"}`)); err != nil || got != test.want {
			t.Errorf("%s: %+v, error %v, want %+v", name, got, err, test.want)
		}
	}
}

func TestReceiver_Handle(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	called := &recorder{err: boom}
	verified := newReceiver(t, called.handlers(), webhook.StandardWebhooks())
	open := newReceiver(t, called.handlers(), webhook.Unverified())
	body := []byte(`{"event_type":"x"}`)
	header := signed(t, "id", body, webhook.NewSecret())
	for name, test := range map[string]struct {
		err  error
		want []error
	}{
		"too large":     {open.Handle(t.Context(), nil, make([]byte, 1<<20+1)), []error{webhook.ErrTooLarge}},
		"unsigned":      {verified.Handle(t.Context(), nil, body), []error{webhook.ErrRefused, standardwebhooks.ErrUnsigned}},
		"zero secrets":  {verified.Handle(t.Context(), header, body), []error{webhook.ErrRefused, standardwebhooks.ErrSignature}},
		"malformed":     {open.Handle(t.Context(), nil, []byte("{")), []error{webhook.ErrMalformed}},
		"callback":      {open.Handle(t.Context(), nil, body), []error{webhook.ErrCallback, boom}},
		"typed but bad": {open.Handle(t.Context(), nil, []byte(`{"event_type":"avatar_event","data":7}`)), []error{webhook.ErrMalformed}},
	} {
		for _, want := range test.want {
			if !errors.Is(test.err, want) {
				t.Errorf("%s: %v is not %v", name, test.err, want)
			}
		}
	}
}

// After a panic the claim is released, so that the service can deliver the notification again.
func TestReceiver_releasesTheClaimAfterAPanic(t *testing.T) {
	t.Parallel()
	calls := 0
	receiver := answering(t, func(context.Context) error {
		if calls++; calls == 1 {
			panic("out of luck")
		}
		return nil
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is hidden from the server")
			}
		}()
		_ = serve(t, receiver, http.MethodPost, "/", withID("a"), strings.NewReader(unlisted))
	}()
	if err := receiver.Handle(t.Context(), withID("a"), []byte(unlisted)); err != nil || calls != 2 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// An event that the document gets needs a callback.
func TestHandlers_haveACallbackForEachEvent(t *testing.T) {
	t.Parallel()
	// Unhandled and Stale are for all events.
	if got, want := reflect.TypeFor[webhook.Handlers]().NumField()-2, len(gen.EventTypes()); got != want {
		t.Errorf("Handlers has callbacks for %d of %d events", got, want)
	}
}
