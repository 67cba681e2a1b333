package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func registration(url string) (gen.Nullable[gen.WebhookData], gen.Nullable[gen.WebhookSwitch]) {
	return gen.Value(gen.WebhookData{WebhookURL: gen.Value(url)}), gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)})
}

func avatarRequest(title, url string) gen.CreateAvatarRequest {
	data, enabled := registration(url)
	return gen.CreateAvatarRequest{
		Title: gen.Value(title), BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"), WebhookData: data, Webhook: enabled,
	}
}

func lipsyncRequest(title, url string) gen.CreateLipsyncRequest {
	data, enabled := registration(url)
	return gen.CreateLipsyncRequest{Title: gen.Value(title), WebhookData: data, Webhook: enabled}
}

func avatarEvents(id string, statuses ...string) []string {
	var bodies []string
	for _, status := range statuses {
		bodies = append(bodies, `{"event_type":"avatar_event","data":{"avatar_id":"`+id+`","status":"`+status+`"}}`)
	}
	return bodies
}

func inferenceEvent(eventType, id, status string) []string {
	return []string{`{"event_type":"` + eventType + `","data":{"inference_id":"` + id + `","status":"` + status + `"}}`}
}

// want awaits as many bodies about an id, and compares them.
func (in *inbox) want(t *testing.T, id string, want []string) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%d events", len(want)), func() bool { return len(in.of(id)) >= len(want) })
	if diff := cmp.Diff(want, in.of(id)); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// A user lists projects, creates avatars, videos and lip-syncs, and gives and refuses consent. A receiver is notified
// of every status that the document has, in order and once.
func TestStudio_makesRecordsAndSendsEveryNotification(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, testStudio)
}

func testStudio(t *testing.T, dsn string) {
	t.Helper()
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Database, cfg.Render.Time, cfg.AutoConsent = dsn, 50*time.Millisecond, false
	})
	in := startInbox(t, d.secret)
	projects := try(demoProjects(d.user.ID, time.Now().UTC()))(t)
	for i := range projects {
		projects[i].WorkspaceID = d.workspace
	}
	try(d.studio.ImportProjects(t.Context(), projects))(t)
	list := try(d.client.ListProjects(t.Context()))(t)
	if len(list.Data) != 12 || list.Size != 9 || list.UnpublishedProjects != 4 {
		t.Errorf("%d projects, counts %d and %d", len(list.Data), list.Size, list.UnpublishedProjects)
	}
	avatar := d.createsAvatars(t, in)
	d.createsVideosAndLipsyncs(t, in, avatar)
	in.hasEveryStatus(t)
	for _, canary := range []string{testPassword, "canary-query", d.secret.Reveal(), "v1,"} {
		if strings.Contains(d.log.String(), canary) {
			t.Errorf("the log shows %q", canary)
		}
	}
}

// hasEveryStatus checks that there was a notification of each type with each status of the document.
func (in *inbox) hasEveryStatus(t *testing.T) {
	t.Helper()
	document := try(openapi3.NewLoader().LoadFromData(api.Spec))(t)
	bodies := strings.Join(in.of(""), "\n")
	for event, item := range document.Webhooks {
		data := item.Post.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties["data"]
		for _, status := range data.Value.Properties["status"].Value.Enum {
			if !regexp.MustCompile(fmt.Sprintf(`"event_type":"%s","data":\{[^\n]*"status":"%v"`, event, status)).MatchString(bodies) {
				t.Errorf("server/cmd/studiod/e2e_test.go: no notification of %s says %v", event, status)
			}
		}
	}
}

// createsAvatars creates avatars and returns a published one.
func (d *testDaemon) createsAvatars(t *testing.T, in *inbox) (published *gen.Avatar) {
	t.Helper()
	ctx := t.Context()
	for _, test := range []struct {
		title   string
		granted *bool
		want    []string
	}{
		{"Ada [fail]", nil, []string{"processing", "failed"}},
		{"Ada without consent", new(false), []string{"processing", "consent_pending", "consent_failed"}},
		{"Ada", new(true), []string{"processing", "consent_pending", "published"}},
	} {
		avatar := try(d.client.CreateAvatar(ctx, avatarRequest(test.title, in.url)))(t)
		id, last := avatar.AvatarID, test.want[len(test.want)-1]
		if test.granted != nil {
			in.want(t, id, avatarEvents(id, test.want[:2]...))
			try(d.client.SubmitConsent(ctx, gen.ConsentRequest{AvatarID: id, Granted: *test.granted}))(t)
		}
		in.want(t, id, avatarEvents(id, test.want...))
		published = try(d.client.GetAvatar(ctx, id))(t)
		if string(published.Status) != last || (published.FailureReason == nil) != (last == "published") {
			t.Errorf("avatar %s is %s, want %s", *published.Title, published.Status, last)
		}
	}
	return published
}

func (d *testDaemon) createsVideosAndLipsyncs(t *testing.T, in *inbox, avatar *gen.Avatar) {
	t.Helper()
	for _, ending := range []struct{ title, status string }{{"Hello", "succeeded"}, {"Hello [fail]", "failed"}} {
		video, err := d.client.CreateVideo(t.Context(), gen.CreateVideoRequest{
			AvatarID: avatar.AvatarID, Title: gen.Value(ending.title), Text: gen.Value("Hello."),
		})
		check(t, err)
		lipsync := try(d.client.CreateLipsync(t.Context(), lipsyncRequest(ending.title, in.url)))(t)
		in.want(t, video.InferenceID, inferenceEvent("avatar_inference_event", video.InferenceID, ending.status))
		in.want(t, lipsync.InferenceID, inferenceEvent("lipsync_inference_event", lipsync.InferenceID, ending.status))
	}
}
