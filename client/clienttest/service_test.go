package clienttest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/memory"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func newClient(t *testing.T, s *clienttest.Service, change ...func(*client.Config)) *client.Client {
	t.Helper()
	config := client.Config{
		BaseURL: s.URL, Email: s.Email, Password: client.Credential(s.Password), Workspace: s.Workspace, Transport: s.Transport(),
	}
	for _, f := range change {
		f(&config)
	}
	return try(client.New(config))(t)
}

// The service uses the clock of the bubble: tokens are valid for an hour, and idempotency keys for a day.
func TestService_usesTheClockOfTheBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ctx := clienttest.NewInMemory(t), t.Context()
		c := newClient(t, s)
		create := func() string {
			return try(c.CreateAvatar(ctx, gen.CreateAvatarRequest{}, client.WithIdempotencyKey("key")))(t).AvatarID
		}
		first := create()
		time.Sleep(23 * time.Hour)
		if create() != first || len(s.Requests("login")) != 1 || len(s.Requests("refreshTokens")) != 1 {
			t.Error("after 23 hours a key is new, or a token is not renewed")
		}
		time.Sleep(2 * time.Hour)
		if create() == first {
			t.Error("after 25 hours a key is not new")
		}
	})
}

// A session ends as in the real service: with all tokens, those that were exchanged included.
func TestService_endsSessions(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c := newClient(t, s)
	login := func() *gen.TokenPair {
		return try(c.Login(t.Context(), gen.LoginRequest{Email: s.Email, Password: s.Password}))(t)
	}
	for name, end := range map[string]func(first, last *gen.TokenPair){
		"logout": func(_, last *gen.TokenPair) {
			check(t, c.Logout(t.Context(), gen.LogoutRequest{RefreshToken: last.RefreshToken}))
		},
		"logout with a used token": func(first, _ *gen.TokenPair) {
			check(t, c.Logout(t.Context(), gen.LogoutRequest{RefreshToken: first.RefreshToken}))
		},
		"reuse": func(first, _ *gen.TokenPair) {
			_, err := c.RefreshTokens(t.Context(), gen.RefreshRequest{RefreshToken: first.RefreshToken})
			harness.WantError(t, err, client.ErrUnauthorized)
		},
		"a login beyond the hundredth": func(_, _ *gen.TokenPair) {
			for range 99 { // there is another session
				login()
			}
		},
	} {
		first := login()
		last, err := c.RefreshTokens(t.Context(), gen.RefreshRequest{RefreshToken: first.RefreshToken})
		check(t, err)
		other := login()
		with := func(pair *gen.TokenPair) *client.Client {
			return newClient(t, s, func(cfg *client.Config) {
				cfg.Email, cfg.Password, cfg.Token = "", "", client.Credential(pair.AccessToken)
			})
		}
		streams, streamed := len(s.Requests("streamEvents")), make(chan error, 1)
		go func() {
			var end error
			for _, err := range with(first).StreamEvents(t.Context()) {
				end = err
			}
			streamed <- end
		}()
		harness.Eventually(t, "a stream", func() bool {
			all := s.Requests("streamEvents")
			return len(all) > streams && all[streams].Status == http.StatusOK
		})
		end(first, last)
		for _, pair := range []*gen.TokenPair{first, last} {
			if _, err := with(pair).ListVoices(t.Context()); !errors.Is(err, client.ErrUnauthorized) {
				t.Fatalf("%s: an access token: %v", name, err)
			}
		}
		if _, err := with(other).ListVoices(t.Context()); err != nil {
			t.Errorf("%s: the token of another session: %v", name, err)
		}
		_, err = c.RefreshTokens(t.Context(), gen.RefreshRequest{RefreshToken: last.RefreshToken})
		harness.WantError(t, err, client.ErrUnauthorized)
		if err := <-streamed; !errors.Is(err, client.ErrUnauthorized) {
			t.Errorf("%s: a stream ends with %v", name, err)
		}
		check(t, c.Logout(t.Context(), gen.LogoutRequest{RefreshToken: last.RefreshToken})) // which is unknown by now
	}
}

func TestService_finishesRenderingsWithAutoFinish(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.AutoFinish()
	c := newClient(t, s)
	for title, want := range map[string]gen.AvatarStatus{
		"Ada": gen.AvatarStatusPublished, "[fail]": gen.AvatarStatusFailed, "[no-consent]": gen.AvatarStatusConsentFailed,
	} {
		created := try(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{Title: gen.Value(title)}))(t)
		avatar := try(c.GetAvatar(t.Context(), created.AvatarID))(t)
		if created.Status != gen.AvatarStatusProcessing || avatar.Status != want {
			t.Errorf("%q is created as %s and becomes %s", title, created.Status, avatar.Status)
		}
	}
	for title, want := range map[string]gen.InferenceStatus{"Hello": gen.InferenceStatusSucceeded, "[fail]": gen.InferenceStatusFailed} {
		created := try(c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{Title: gen.Value(title)}))(t)
		if lipsync := try(c.GetLipsync(t.Context(), created.InferenceID))(t); lipsync.Status != want {
			t.Errorf("a lip-sync %q becomes %s", title, lipsync.Status)
		}
	}
}

func TestService_allowsInvalidRequests(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.AllowInvalid()
	c := newClient(t, s)
	if _, err := c.GetAvatar(t.Context(), strings.Repeat("a", 129)); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("error %v", err)
	}
	for url, want := range map[string]string{"ftp://hooks.example.com/": "webhook_url_invalid", "https://10.0.0.1/": "webhook_url_not_public"} {
		var response client.Response
		_, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{
			WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(url)}), Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
		}, client.WithResponse(&response))
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(string(response.Body), want) {
			t.Errorf("%s: %v %s, want %s", url, err, response.Body, want)
		}
	}
}

// The service names a request as it routes it, whatever its credentials and its body are, and keeps all of it.
func TestService_recordsTheOperationOfEachRequest(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.AllowInvalid()
	want := []string{"listAvatars", "listAvatars", "createAvatar", "login", "logout", "refreshTokens", "", "", ""}
	for _, line := range []string{
		"GET /v1/avatars/list", "HEAD /v1/avatars/list", "POST /v1/avatars/create_avatar", "POST /users/login", "POST /users/logout", "POST /users/refresh",
		"GET /users/login", "GET /v1/nothing", "GET /v1//avatars/list",
	} {
		method, path, _ := strings.Cut(line, " ")
		request := try(http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader("{")))(t)
		request.Header.Set("Idempotency-Key", "key")
		response := try(s.Transport().RoundTrip(request))(t)
		check(t, response.Body.Close())
	}
	var got []string
	for _, request := range s.Requests() {
		got = append(got, request.Operation)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if all := s.Requests("listAvatars"); len(all) != 2 || all[1].Status != http.StatusUnauthorized {
		t.Errorf("requests %+v", all)
	}
	if r := s.Requests("createAvatar")[0]; r.Method != http.MethodPost || r.URL.Path != "/v1/avatars/create_avatar" || string(r.Body) != "{" ||
		r.Header.Get("Idempotency-Key") != "key" {
		t.Errorf("request %+v", r)
	}
}

func TestService_concurrentUse(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c, r := newClient(t, s), newReceiver(t, s)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			data, enabled := r.registration()
			lipsync, err := c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{WebhookData: data, Webhook: enabled})
			if err != nil {
				t.Error(err)
				return
			}
			s.Fail("listProjects", 1, clienttest.DropMid())
			_, _ = c.ListProjects(t.Context())
			s.SetInference(lipsync.InferenceID, gen.InferenceStatusSucceeded)
			s.Deliver()
			s.Requests("createLipsync")
		})
	}
	callers.Wait()
	if len(r.statuses) != 8 || len(s.Requests("createLipsync")) < 8 {
		t.Errorf("%d notifications", len(r.statuses))
	}
}

// failing is a testing.TB that records failures.
type failing struct {
	testing.TB
	mu       sync.Mutex
	messages []string
}

func (f *failing) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}

func (f *failing) failed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.messages)
}

// A finished video can be downloaded until it is deleted.
func TestDownload_worksUntilDeletion(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	studio := newClient(t, service)
	lipsync := try(studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t)
	id := lipsync.InferenceID
	var video bytes.Buffer
	if err := studio.Download(t.Context(), client.LipsyncFile(id), &video); !errors.Is(err, client.ErrNoFile) {
		t.Errorf("before it has succeeded: %v", err)
	}
	service.SetInference(id, gen.InferenceStatusSucceeded)
	service.Fail("getLipsync", 1, clienttest.Delay(0))
	service.Fail("", 1, clienttest.DropMid()) // of the file, so that the client downloads the rest
	if err := studio.Download(t.Context(), client.LipsyncFile(id), &video); err != nil || video.Len() == 0 {
		t.Errorf("%d bytes, %v", video.Len(), err)
	}
	if last := service.Requests()[5]; last.Operation != "" || last.Status != http.StatusPartialContent {
		t.Errorf("request %+v", last)
	}
	check(t, studio.DeleteLipsync(t.Context(), gen.DeleteInferenceRequest{InferenceID: id}))
	if err := studio.Download(t.Context(), client.LipsyncFile(id), &video); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

// What a service in memory would only miss later is required at once.
func TestMemory_needsItsAddressAndASender(t *testing.T) {
	t.Parallel()
	for _, cfg := range []memory.Config{{BaseURL: "http://127.0.0.1"}, {Send: (&sender.Sender{}).Send}} {
		if _, err := memory.New(cfg); err == nil {
			t.Errorf("a service without BaseURL, or without Send, is accepted: %+v", cfg)
		}
	}
}
