package clienttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// receiver records its events in order. If handle is not nil, it may refuse an event.
type receiver struct {
	url      string
	statuses []string
	ids      []string
	handle   func(gen.AvatarEventData) error
}

func newReceiver(t *testing.T, s *clienttest.Service) *receiver {
	t.Helper()
	r := &receiver{}
	handler, err := webhook.NewReceiver(webhook.Handlers{
		Unhandled: func(_ context.Context, e gen.Event, d webhook.Delivery) error {
			var data gen.AvatarEventData // or that of an inference
			_ = json.Unmarshal(e.Data, &data)
			r.statuses, r.ids = append(r.statuses, fmt.Sprint(e.EventType, " ", data.Status)), append(r.ids, d.ID)
			if r.handle != nil {
				return r.handle(data)
			}
			return nil
		},
	}, webhook.StandardWebhooks(s.Secret))
	check(t, err)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

func (r *receiver) registration() (gen.Nullable[gen.WebhookData], gen.Nullable[gen.WebhookSwitch]) {
	return gen.Value(gen.WebhookData{WebhookURL: gen.Value(r.url)}), gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)})
}

func (r *receiver) newAvatar(t *testing.T, c *client.Client) string {
	t.Helper()
	data, enabled := r.registration()
	avatar := try(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{WebhookData: data, Webhook: enabled}))(t)
	return avatar.AvatarID
}

// Notifications are sent by Deliver, including those that occur during it.
func TestDeliver_sendsPendingEvents(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c, r := newClient(t, s), newReceiver(t, s)
	id := r.newAvatar(t, c)
	if len(r.statuses) != 0 {
		t.Errorf("sent without Deliver: %v", r.statuses)
	}
	r.handle = func(event gen.AvatarEventData) error {
		if event.Status != gen.AvatarStatusConsentPending {
			return nil
		}
		_, err := c.SubmitConsent(t.Context(), gen.ConsentRequest{AvatarID: id, Granted: true})
		return err
	}
	s.SetAvatar(id, gen.AvatarStatusConsentPending)
	if attempts := s.Deliver(); len(attempts) != 3 {
		t.Errorf("attempts %+v", attempts)
	}
	video := try(c.CreateVideo(t.Context(), gen.CreateVideoRequest{AvatarID: id}))(t)
	data, enabled := r.registration()
	lipsync := try(c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{WebhookData: data, Webhook: enabled}))(t)
	s.SetInference(lipsync.InferenceID, gen.InferenceStatusFailed)
	s.SetInference(video.InferenceID, gen.InferenceStatusSucceeded)
	s.Deliver()
	want := []string{
		"avatar_event processing", "avatar_event consent_pending", "avatar_event published", "lipsync_inference_event failed", "avatar_inference_event succeeded",
	}
	if diff := cmp.Diff(want, r.statuses); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
	if again := s.Deliver(); len(again) != 0 {
		t.Errorf("sent again: %+v", again)
	}
	check(t, c.DeleteAvatar(t.Context(), gen.DeleteAvatarRequest{AvatarID: r.newAvatar(t, c)}))
	if deleted := s.Deliver(); len(deleted) != 0 {
		t.Errorf("sent after the deletion: %+v", deleted)
	}
	s.AddUser("bob@example.com", "another password")
	r.newAvatar(t, newClient(t, s, func(c *client.Config) {
		c.Email, c.Password, c.Workspace = "bob@example.com", "another password", ""
	}))
	if other := s.Deliver(); len(other) != 1 || other[0].Status != http.StatusUnauthorized {
		t.Errorf("sent to the receiver of another user: %+v", other)
	}
}

// A refused notification is sent again with the same id. Only events of the same avatar wait for it.
func TestDeliver_sendsRefusedEventsAgain(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c, r := newClient(t, s), newReceiver(t, s)
	first, second := r.newAvatar(t, c), r.newAvatar(t, c)
	s.SetAvatar(first, gen.AvatarStatusConsentPending)
	r.handle = func(event gen.AvatarEventData) error {
		if event.AvatarID == first {
			return errors.New("not now")
		}
		return nil
	}
	attempts := s.Deliver()
	if len(attempts) != 2 || attempts[0].Status != http.StatusInternalServerError || !attempts[1].Delivered() {
		t.Errorf("attempts %+v", attempts)
	}
	r.handle = nil
	if attempts = s.Deliver(); len(attempts) != 2 {
		t.Errorf("attempts %+v", attempts)
	}
	var ids []string
	for _, event := range slices.Concat(s.Events(first)[:1], s.Events(second), s.Events(first)) {
		ids = append(ids, event.ID)
	}
	if diff := cmp.Diff(ids, r.ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestFire_reportsTheStatusOfTheReceiver(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	r := newReceiver(t, s)
	unregistered := sender.Message{
		URL: r.url, Body: []byte(`{"event_type":"avatar_event","data":{"avatar_id":"a","status":"published"}}`),
	}
	with := func(body string, secrets ...webhook.Secret) sender.Message {
		return sender.Message{URL: r.url, Body: []byte(body), Secrets: secrets}
	}
	another := strings.Replace(string(unregistered.Body), `:"a"`, `:"b"`, 1)
	for name, test := range map[string]struct {
		attempt sender.Attempt
		status  int
	}{
		"unregistered":    {s.Fire(unregistered), 204},
		"rotated secrets": {s.Fire(with(another, webhook.NewSecret(), s.Secret)), 204},
		"bad signature":   {s.Fire(with(another, webhook.NewSecret())), 401},
		"too old":         {s.FireAt(time.Now().Add(-time.Hour), unregistered), 401},
		"unknown type":    {s.Fire(with(`{"event_type":"x","data":{}}`)), 204},
		"no event":        {s.Fire(with(`{`)), 400},
	} {
		if test.attempt.Status != test.status {
			t.Errorf("%s: %+v, want %d", name, test.attempt, test.status)
		}
	}
	if len(r.ids) != 3 || slices.Contains(r.ids, "") || r.ids[0] == r.ids[1] {
		t.Errorf("ids %v", r.ids)
	}
	for _, eventType := range gen.EventTypes() {
		sample, _ := gen.SampleEvent(eventType, "", "")
		body := try(json.Marshal(sample))(t)
		if attempt := s.Fire(sender.Message{URL: r.url, Body: body}); !attempt.Delivered() {
			t.Errorf("the sample of %s: %+v", eventType, attempt)
		}
	}
	for _, url := range []string{"https://hooks.example.com/", "http://10.0.0.1/", "::", ""} {
		if attempt := s.Fire(sender.Message{URL: url}); attempt.Failure != sender.FailureBlocked {
			t.Errorf("%q: %+v", url, attempt)
		}
	}
}

// A mistake in a test fails it with a helpful message.
func TestService_failsTheTest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		misuse func(t *testing.T, s *clienttest.Service, c *client.Client)
		want   string
	}{
		"unknown operation": {func(_ *testing.T, s *clienttest.Service, _ *client.Client) {
			s.Fail("create_avatar", 1, clienttest.HTML(200))
		}, `no operation "create_avatar"; the operations are `},
		"unknown requests": {func(_ *testing.T, s *clienttest.Service, _ *client.Client) { s.Requests("GET") }, `no operation "GET"`},
		"no call":          {func(_ *testing.T, s *clienttest.Service, _ *client.Client) { s.Fail("", 0, clienttest.HTML(200)) }, "needs a call"},
		"unknown avatar":   {func(_ *testing.T, s *clienttest.Service, _ *client.Client) { s.SetAvatar("x", "published") }, "no record with this id"},
		"unknown video":    {func(_ *testing.T, s *clienttest.Service, _ *client.Client) { s.SetInference("x", "failed") }, "no record with this id"},
		"second user":      {func(_ *testing.T, s *clienttest.Service, _ *client.Client) { s.AddUser("ADA@example.com", "") }, "AddUser ADA@example.com: studio: already exists"},
		"no email":         {func(_ *testing.T, s *clienttest.Service, _ *client.Client) { s.AddUser("ada", "") }, "AddUser ada: studio: not an email address"},
		"final state": {func(t *testing.T, s *clienttest.Service, c *client.Client) {
			avatar := try(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}))(t)
			s.SetAvatar(avatar.AvatarID, "published")
			s.SetAvatar(avatar.AvatarID, "failed")
		}, `cannot change from "published" to "failed"`},
		"forbidden request": {func(t *testing.T, _ *clienttest.Service, c *client.Client) {
			if _, err := c.GetAvatar(t.Context(), strings.Repeat("a", 129)); !errors.Is(err, client.ErrInvalid) {
				t.Errorf("error %v", err)
			}
		}, `GET /v1/avatars/avatar_details does not match the document (status 400): {`},
		"wrong path": {func(t *testing.T, s *clienttest.Service, _ *client.Client) {
			response := try((&http.Client{Transport: s.Transport()}).Get(s.URL + "/v1/projects"))(t)
			response.Body.Close()
		}, "GET /v1/projects does not match the document (status 404)"},
		"wrong answer": {func(t *testing.T, s *clienttest.Service, c *client.Client) {
			s.AddProject(gen.Project{ProjectID: new("not a uuid")})
			if _, err := c.ListProjects(t.Context()); !errors.Is(err, client.ErrServer) {
				t.Errorf("error %v", err)
			}
		}, "the response to GET /projects/v2 does not match"},
	} {
		f := &failing{TB: t}
		s := clienttest.New(f)
		func() {
			defer func() {
				if cause := recover(); cause != nil && cause != f {
					panic(cause)
				}
			}()
			test.misuse(t, s, newClient(t, s))
		}()
		if got := f.failed(); len(got) == 0 || !strings.Contains(got[0], test.want) {
			t.Errorf("%s: the test fails with %q, want %q", name, got, test.want)
		}
	}
}
