package client_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A method sends the request of the document and returns its response. Package clienttest, which refuses requests that
// the document forbids, sees the requests of the other methods.
func TestOperations_sendDocumentedRequests(t *testing.T) {
	t.Parallel()
	key := client.WithIdempotencyKey("key-1")
	avatar := func(status gen.AvatarStatus) *gen.Avatar {
		return &gen.Avatar{AvatarID: avatarID, Status: status, CreatedAt: &moment, UpdatedAt: &moment}
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
			want:      &gen.ProjectList{Data: []gen.Project{{Title: new("Welcome to the team"), ProjectType: new("PERSONALIZED")}}, Size: 1},
			operation: "GET /projects/v2", header: map[string]string{"X-Workspace-Id": workspace + "++"},
		},
		"CreateAvatar": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.CreateAvatar(ctx, gen.CreateAvatarRequest{
					WebhookData:          gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com")}),
					Webhook:              gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
					AdditionalProperties: map[string]json.RawMessage{"voice": json.RawMessage(`"calm"`)},
				}, key)
			},
			want:      avatar(gen.AvatarStatusProcessing),
			operation: "POST /v1/avatars/create_avatar", header: map[string]string{"Idempotency-Key": "key-1", "X-Workspace-Id": workspace},
			body: `{"voice":"calm","webhook":{"enabled":true},"webhook_data":{"webhook_url":"https://hooks.example.com"}}`,
		},
		"UpdateProject": {
			call: func(ctx context.Context, c *client.Client) (any, error) {
				return c.UpdateProject(ctx, gen.UpdateProjectRequest{
					ProjectID: "1", Title: new("Hello"), Tags: &gen.ProjectTags{Names: &[]string{"new"}}, CustomThumbnail: new(""), Shared: new(false),
				})
			},
			want:      &gen.Project{Title: new("Hello")},
			operation: "POST /v1/projects/update", header: map[string]string{"X-Workspace-Id": workspace},
			body: `{"custom_thumbnail":"","project_id":"1","shared":false,"tags":{"names":["new"]},"title":"Hello"}`,
		},
		"GetAvatar": {
			call:      func(ctx context.Context, c *client.Client) (any, error) { return c.GetAvatar(ctx, avatarID) },
			want:      avatar(gen.AvatarStatusPublished),
			operation: "GET /v1/avatars/avatar_details", query: "avatar_id=" + avatarID,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			got, err := test.call(t.Context(), s.start(t))
			check(t, err)
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

func TestListProjects_needsAWorkspace(t *testing.T) {
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

// Every path of the document is appended to the path of BaseURL.
func TestBasePath_precedesEveryPath(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://localhost/studio/v9", "http://localhost/studio/v9/", "http://localhost/studio/x/../v9"} {
		s := newService()
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			http.StripPrefix("/studio/v9", http.HandlerFunc(s.answer)).ServeHTTP(w, r)
			return true
		}
		c := s.direct(t, func(c *client.Config) { c.BaseURL = base })
		if _, err := c.GetAvatar(t.Context(), avatarID); err != nil {
			t.Errorf("%s: %v", base, err)
		}
		if s.count("GET /studio/v9/v1/avatars/avatar_details") != 1 {
			t.Errorf("%s: %+v", base, s.seen)
		}
	}
}

// static configures a client with a fixed token, which does not log in.
func static(c *client.Config) { c.Email, c.Password, c.Token = "", "", "static-1" }

// once configures a client without retries.
func once(c *client.Config) { c.Retry.Attempts = 1 }
