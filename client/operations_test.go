package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// Each method sends the request of the document and returns its answer.
func TestOperations(t *testing.T) {
	t.Parallel()
	key := client.WithIdempotencyKey("key-1")
	avatar := func(status gen.AvatarStatus) *gen.Avatar {
		return &gen.Avatar{AvatarID: avatarID, Status: status, CreatedAt: moment, UpdatedAt: moment}
	}
	video := func(status gen.InferenceStatus) *gen.Video {
		return &gen.Video{InferenceID: videoID, AvatarID: avatarID, Status: status, CreatedAt: moment, UpdatedAt: moment}
	}
	lipsync := func(status gen.InferenceStatus) *gen.Lipsync {
		return &gen.Lipsync{InferenceID: videoID, Status: status, CreatedAt: moment, UpdatedAt: moment}
	}
	for name, test := range map[string]struct {
		call      func(context.Context, *client.Client) (any, error)
		want      any
		operation string
		query     string
		header    map[string]string
		body      string
	}{
		"ListProjects": {
			call:      func(ctx context.Context, c *client.Client) (any, error) { return c.ListProjects(ctx) },
			want:      &gen.ProjectList{Data: []gen.Project{{Title: new("Welcome to the team"), ProjectType: new("PERSONALIZED")}}, Size: 1},
			operation: "GET /projects/v2", header: map[string]string{"X-Workspace-Id": workspace},
		},
		"ListProjects of another workspace": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.ListProjects(ctx, client.WithWorkspace(workspace+"++"))
			},
			want:      &gen.ProjectList{Data: []gen.Project{{Title: new("Welcome to the team"), ProjectType: new("PERSONALIZED")}}, Size: 1, UnpublishedProjects: 2},
			operation: "GET /projects/v2", header: map[string]string{"X-Workspace-Id": workspace + "++"},
		},
		"CreateAvatar": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreateAvatar(ctx, gen.CreateAvatarRequest{
					WebhookData:          &gen.WebhookData{WebhookURL: new("https://hooks.example.com")},
					Webhook:              &gen.WebhookSwitch{Enabled: new(true)},
					AdditionalProperties: map[string]json.RawMessage{"voice": json.RawMessage(`"calm"`)},
				}, key)
			},
			want:      avatar(gen.AvatarStatusProcessing),
			operation: "POST /v1/avatars/create_avatar", header: map[string]string{"Idempotency-Key": "key-1", "X-Workspace-Id": ""},
			body: `{"voice":"calm","webhook":{"enabled":true},"webhook_data":{"webhook_url":"https://hooks.example.com"}}`,
		},
		"CreateVideo": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreateVideo(ctx, gen.CreateVideoRequest{AvatarID: avatarID, Text: new("Hello")}, key)
			},
			want:      video(gen.InferenceStatusProcessing),
			operation: "POST /v1/avatars/create_video", header: map[string]string{"Idempotency-Key": "key-1"},
			body: `{"avatar_id":"` + avatarID + `","text":"Hello"}`,
		},
		"CreateLipsync": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreateLipsync(ctx, gen.CreateLipsyncRequest{}, key)
			},
			want:      lipsync(gen.InferenceStatusProcessing),
			operation: "POST /v1/lipsync/create_lipsync", header: map[string]string{"Idempotency-Key": "key-1"},
			body: `{}`,
		},
		"SubmitConsent": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.SubmitConsent(ctx, gen.ConsentRequest{AvatarID: avatarID, Granted: true})
			},
			want:      avatar(gen.AvatarStatusPublished),
			operation: "POST /v1/avatars/submit_consent", header: map[string]string{"Idempotency-Key": ""},
			body: `{"avatar_id":"` + avatarID + `","granted":true}`,
		},
		"GetAvatar": {
			call:      func(ctx context.Context, c *client.Client) (any, error) { return c.GetAvatar(ctx, avatarID) },
			want:      avatar(gen.AvatarStatusPublished),
			operation: "GET /v1/avatars/avatar_details", query: "avatar_id=" + avatarID,
		},
		"GetVideo": {
			call:      func(ctx context.Context, c *client.Client) (any, error) { return c.GetVideo(ctx, videoID) },
			want:      video(gen.InferenceStatusSucceeded),
			operation: "GET /v1/avatars/inference_details", query: "inference_id=" + videoID,
		},
		"GetLipsync": {
			call:      func(ctx context.Context, c *client.Client) (any, error) { return c.GetLipsync(ctx, videoID) },
			want:      lipsync(gen.InferenceStatusSucceeded),
			operation: "GET /v1/lipsync/inference_details", query: "inference_id=" + videoID,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			got, err := test.call(t.Context(), s.start(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			requests := s.requests(test.operation)
			if len(requests) != 1 || s.count("POST /users/login") != 1 {
				t.Fatalf("requests: %+v", s.seen)
			}
			request := requests[0]
			if request.query != test.query || request.body != test.body {
				t.Errorf("query %q, body %s", request.query, request.body)
			}
			want := map[string]string{"Authorization": "Bearer access-1", "User-Agent": "avatarstudio-go"}
			maps.Copy(want, test.header)
			for name, value := range want {
				if got := request.header.Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
		})
	}
}

func TestListProjects_NoWorkspace(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.direct(t, func(c *client.Config) { c.Workspace = "" })
	if _, err := c.ListProjects(t.Context()); err == nil || !strings.Contains(err.Error(), "WithWorkspace") {
		t.Errorf("error %v", err)
	}
	if len(s.seen) != 0 {
		t.Errorf("sent %+v", s.seen)
	}
}

// Every path of the document works under the path of BaseURL.
func TestBasePath(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://localhost/studio/v9", "http://localhost/studio/v9/", "http://localhost/studio/x/../v9"} {
		s := newService()
		s.handler = http.StripPrefix("/studio/v9", s.handler)
		c := s.direct(t, func(c *client.Config) { c.BaseURL = base })
		if _, err := c.GetAvatar(t.Context(), avatarID); err != nil {
			t.Errorf("%s: %v", base, err)
		}
		if s.count("GET /studio/v9/v1/avatars/avatar_details") != 1 {
			t.Errorf("%s: %+v", base, s.seen)
		}
	}
}

// An answer may have members and values that the document does not know, and lack what it has.
func TestTolerance(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   gen.Avatar
	}{
		"unknown":    {200, `{"avatar_id":"a","status":"resting","mood":{"x":[1]},"created_at":"2026-01-12T09:30:00Z"}`, gen.Avatar{AvatarID: "a", Status: "resting", CreatedAt: moment}},
		"null":       {200, `{"avatar_id":null,"status":null,"title":null,"created_at":null,"updated_at":null}`, gen.Avatar{}},
		"missing":    {200, ` {} `, gen.Avatar{}},
		"201":        {201, `{"avatar_id":"a"}`, gen.Avatar{AvatarID: "a"}},
		"duplicates": {200, `{"avatar_id":"a","avatar_id":"b"}`, gen.Avatar{AvatarID: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
				return true
			}
			got, err := s.direct(t, static).GetAvatar(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// That holds for every answer that the generated types describe, whoever decodes it.
func TestTolerance_EveryAnswer(t *testing.T) {
	t.Parallel()
	for name, sample := range map[string]sample{
		"missing":           {empty: 1},
		"missing, inside":   {empty: 2},
		"missing, deeper":   {empty: 3},
		"null":              {null: 1},
		"null, inside":      {null: 2},
		"null, deeper":      {null: 3},
		"unknown":           {unknown: true},
		"unknown, and null": {unknown: true, null: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			var body []byte
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(body)
				return true
			}
			c := s.direct(t, static)
			walked := 0
			for _, receiver := range []reflect.Value{reflect.ValueOf(c), reflect.ValueOf(c.Raw())} {
				for i := range receiver.NumMethod() {
					name, method := receiver.Type().Method(i).Name, receiver.Method(i)
					in, returned := method.Type(), reflect.Type(nil)
					if strings.HasPrefix(name, "Wait") || strings.Contains(name, "WithBody") || in.NumIn() == 0 || in.NumOut() != 2 {
						continue
					}
					returned = in.Out(0).Elem()
					if field, ok := returned.FieldByName("JSON200"); ok {
						returned = field.Type.Elem()
					}
					if returned.PkgPath() != reflect.TypeFor[gen.Avatar]().PkgPath() {
						continue
					}
					var err error
					if body, err = json.Marshal(sample.of(returned, 1)); err != nil {
						t.Fatal(err)
					}
					arguments := []reflect.Value{reflect.ValueOf(t.Context())}
					for j := 1; j < in.NumIn()-1; j++ {
						arguments = append(arguments, argument(in.In(j)))
					}
					results := method.Call(arguments)
					if err := results[1].Interface(); err != nil {
						t.Errorf("%s: %v: %s", name, err, body)
					} else if answer := results[0].Elem().FieldByName("JSON200"); answer.IsValid() && answer.IsNil() {
						t.Errorf("%s: nothing decoded: %s", name, body)
					}
					walked++
				}
			}
			if walked < 8+10 {
				t.Errorf("%d answers", walked)
			}
		})
	}
}

// argument makes a zero value, or parameters that are not empty.
func argument(of reflect.Type) reflect.Value {
	if of.Kind() != reflect.Pointer {
		return reflect.Zero(of)
	}
	parameters := reflect.New(of.Elem())
	for _, field := range parameters.Elem().Fields() {
		if field.Kind() == reflect.String {
			field.SetString("x")
		}
	}
	return parameters
}

// sample makes documents for a type: with empty objects or null members from a depth on, or with
// members that the document does not know and strings that are in no enumeration.
type sample struct {
	empty, null int
	unknown     bool
}

func (s sample) of(t reflect.Type, depth int) any {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem(), depth)
	case t == reflect.TypeFor[time.Time]():
		return moment
	case t.Kind() == reflect.Array:
		return avatarID // a UUID
	case t.Kind() == reflect.Slice:
		return []any{s.of(t.Elem(), depth+1)}
	case t.Kind() == reflect.String:
		return "resting"
	case t.Kind() != reflect.Struct:
		return 7
	}
	document := map[string]any{}
	if s.unknown {
		document["mood"] = map[string]any{"deep": []any{1, nil}}
	}
	for i := 0; i < t.NumField() && depth != s.empty; i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		document[name] = s.of(t.Field(i).Type, depth+1)
		if depth == s.null {
			document[name] = nil
		}
	}
	return document
}

// The generated client goes the same way.
func TestRaw(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.start(t)
	answer, err := c.Raw().GetAvatarWithResponse(t.Context(), &gen.GetAvatarParams{AvatarID: avatarID})
	if err != nil || answer.JSON200 == nil || answer.JSON200.AvatarID != avatarID {
		t.Errorf("answer %+v, error %v", answer, err)
	}
	s.before = failing("GET /v1/avatars/avatar_details", http.StatusNotFound)
	if _, err := c.Raw().GetAvatarWithResponse(t.Context(), &gen.GetAvatarParams{AvatarID: avatarID}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// Logging in needs no account of the client, and a caller may bring a token of its own.
func TestRaw_OwnToken(t *testing.T) {
	t.Parallel()
	s := newService()
	c := s.start(t, func(c *client.Config) { c.Email, c.Password = "", "" })
	pair, err := c.Raw().LoginWithResponse(t.Context(), gen.LoginRequest{Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+pair.JSON200.AccessToken)
		return nil
	}
	params := &gen.GetAvatarParams{AvatarID: avatarID}
	if _, err := c.Raw().GetAvatarWithResponse(t.Context(), params, bearer); err != nil {
		t.Error(err)
	}
	if _, err := c.Raw().GetAvatarWithResponse(t.Context(), params); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("error %v", err)
	}
	if login := s.requests("POST /users/login")[0]; login.header.Get("Authorization") != "" {
		t.Error("login was sent with a token")
	}
}

// static makes a client that does not log in.
func static(c *client.Config) { c.Email, c.Password, c.Token = "", "", "static-1" }

// once makes a client that sends nothing twice.
func once(c *client.Config) { c.Retry.Attempts = 1 }
