package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
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

func (in *inbox) want(t *testing.T, id string, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, in.wait(t, id, len(want))); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
}

// A user logs in, lists projects, creates avatars, videos and lip-syncs, and gives and refuses consent. A receiver is
// notified of every status that the document has, in order and once.
func TestStudio_makesRecordsAndSendsEveryNotification(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, testStudio)
}

func testStudio(t *testing.T, dsn string) {
	t.Helper()
	d := startDaemon(t, func(cfg *daemonConfig) {
		cfg.Database, cfg.Render.Time, cfg.AutoConsent = dsn, 50*time.Millisecond, false
	})
	in := startInbox(t, d.secret, nil)
	d.listsProjects(t)
	d.refreshesTokens(t)
	d.createsQuietly(t, in)
	avatar := d.createsAvatars(t, in)
	d.createsVideosAndLipsyncs(t, in, avatar)

	in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending", "published"))
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
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	check(t, err)
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

func (d *testDaemon) listsProjects(t *testing.T) {
	t.Helper()
	projects, err := demoProjectsOf(d)
	check(t, err)
	_, err = d.studio.ImportProjects(t.Context(), projects)
	check(t, err)
	list, err := d.client.ListProjects(t.Context())
	check(t, err)
	if len(list.Data) != 12 || list.Size != 9 || list.UnpublishedProjects != 4 {
		t.Errorf("%d projects, counts %d and %d", len(list.Data), list.Size, list.UnpublishedProjects)
	}
	_, err = d.client.ListProjects(t.Context(), client.WithWorkspace("elsewhere"))
	if !errors.Is(err, client.ErrForbidden) {
		t.Errorf("the projects of another workspace: %v", err)
	}
}

func (d *testDaemon) refreshesTokens(t *testing.T) {
	t.Helper()
	login, err := d.client.Login(t.Context(), gen.LoginRequest{Email: testEmail, Password: testPassword})
	check(t, err)
	refresh := gen.RefreshRequest{RefreshToken: login.RefreshToken}
	next, err := d.client.RefreshTokens(t.Context(), refresh)
	check(t, err)
	if next.RefreshToken == refresh.RefreshToken || next.AccessToken == "" {
		t.Error("a refresh answers the same refresh token")
	}
	_, err = d.client.RefreshTokens(t.Context(), refresh)
	if !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a refresh token works twice: %v", err)
	}
}

// createsQuietly checks that a webhook that is not enabled is not notified.
func (d *testDaemon) createsQuietly(t *testing.T, in *inbox) {
	t.Helper()
	request := avatarRequest("Quiet", in.url)
	request.Webhook = gen.Value(gen.WebhookSwitch{Enabled: gen.Value(false)})
	avatar, err := d.client.CreateAvatar(t.Context(), request)
	check(t, err)
	harness.Eventually(t, "an avatar without a registration waiting for consent", func() bool {
		avatar, err = d.client.GetAvatar(t.Context(), avatar.AvatarID)
		check(t, err)
		return avatar.Status == gen.AvatarStatusConsentPending
	})
	avatar, err = d.client.SubmitConsent(t.Context(), gen.ConsentRequest{AvatarID: avatar.AvatarID, Granted: true})
	check(t, err)
	t.Cleanup(func() { // at the end of the test, when everything else has been delivered
		if bodies := in.of(avatar.AvatarID); avatar.Status != gen.AvatarStatusPublished || len(bodies) != 0 {
			t.Errorf("an avatar without a registration is %s after the notifications %v", avatar.Status, bodies)
		}
	})
}

// createsAvatars creates avatars and returns a published one.
func (d *testDaemon) createsAvatars(t *testing.T, in *inbox) *gen.Avatar {
	t.Helper()
	ctx := t.Context()
	published, err := d.client.CreateAvatar(ctx, avatarRequest("Ada", in.url), client.WithIdempotencyKey("ada"))
	check(t, err)
	again, err := d.client.CreateAvatar(ctx, avatarRequest("Ada", in.url), client.WithIdempotencyKey("ada"))
	check(t, err)
	if diff := cmp.Diff(published, again); diff != "" || published.Status != gen.AvatarStatusProcessing {
		t.Errorf("the same key answers another avatar:\n%s", diff)
	}
	for _, test := range []struct {
		avatar  *gen.Avatar
		title   string
		granted *bool
		want    []string
	}{
		{published, "", new(true), []string{"processing", "consent_pending", "published"}},
		{nil, "Ada [fail]", nil, []string{"processing", "failed"}},
		{nil, "Ada without consent", new(false), []string{"processing", "consent_pending", "consent_failed"}},
	} {
		avatar := test.avatar
		if avatar == nil {
			avatar, err = d.client.CreateAvatar(ctx, avatarRequest(test.title, in.url))
			check(t, err)
		}
		id, last := avatar.AvatarID, test.want[len(test.want)-1]
		if test.granted != nil {
			in.want(t, id, avatarEvents(id, test.want[:2]...))
			decided, err := d.client.SubmitConsent(ctx, gen.ConsentRequest{AvatarID: id, Granted: *test.granted})
			check(t, err)
			if string(decided.Status) != last {
				t.Errorf("the decision makes the avatar %s", decided.Status)
			}
		}
		in.want(t, id, avatarEvents(id, test.want...))
		avatar, err = d.client.GetAvatar(ctx, id)
		check(t, err)
		if string(avatar.Status) != last || (avatar.FailureReason == nil) != (last == "published") {
			t.Errorf("avatar %s is %s, want %s", *avatar.Title, avatar.Status, last)
		}
		_, err = d.client.SubmitConsent(ctx, gen.ConsentRequest{AvatarID: id, Granted: true})
		if !errors.Is(err, client.ErrConflict) {
			t.Errorf("a decision in a final state: %v", err)
		}
		if last != "published" {
			_, err = d.client.CreateVideo(ctx, gen.CreateVideoRequest{AvatarID: id})
			if !errors.Is(err, client.ErrConflict) {
				t.Errorf("a video of an avatar that is %s: %v", last, err)
			}
		}
	}
	return published
}

func (d *testDaemon) createsVideosAndLipsyncs(t *testing.T, in *inbox, avatar *gen.Avatar) {
	t.Helper()
	ctx := t.Context()
	for _, ending := range []struct{ title, status string }{{"Hello", "succeeded"}, {"Hello [fail]", "failed"}} {
		video, err := d.client.CreateVideo(ctx, gen.CreateVideoRequest{
			AvatarID: avatar.AvatarID, Title: gen.Value(ending.title), Text: gen.Value("Hello."),
		})
		check(t, err)
		lipsync, err := d.client.CreateLipsync(ctx, lipsyncRequest(ending.title, in.url))
		check(t, err)
		in.want(t, video.InferenceID, inferenceEvent("avatar_inference_event", video.InferenceID, ending.status))
		in.want(t, lipsync.InferenceID, inferenceEvent("lipsync_inference_event", lipsync.InferenceID, ending.status))
		video, err = d.client.GetVideo(ctx, video.InferenceID)
		check(t, err)
		lipsync, err = d.client.GetLipsync(ctx, lipsync.InferenceID)
		check(t, err)
		if string(video.Status) != ending.status || string(lipsync.Status) != ending.status {
			t.Errorf("the video is %s and the lip-sync %s, want %s", video.Status, lipsync.Status, ending.status)
		}
	}
}

func TestStudio_autoConsentDecides(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	in := startInbox(t, d.secret, nil)
	for title, status := range map[string]string{"Ada": "published", "Ada [no-consent]": "consent_failed"} {
		avatar, err := d.client.CreateAvatar(t.Context(), avatarRequest(title, in.url))
		check(t, err)
		in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending", status))
	}
}

func TestStudio_rejectsPrivateWebhookURLs(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.AllowHTTP, cfg.AllowNetworks = false, nil })
	for _, url := range []string{
		"http://hooks.example.com/", "https://127.0.0.1/", "https://localhost/", "https://[::ffff:10.0.0.1]/",
		"https://2130706433/", "https://ada:hunter2@hooks.example.com/", "ftp://hooks.example.com/", "/hooks",
	} {
		_, err := d.client.CreateLipsync(t.Context(), lipsyncRequest("Hello", url))
		answer, ok := errors.AsType[*client.Error](err)
		if !ok || answer.StatusCode != http.StatusUnprocessableEntity || answer.Problem.Errors == nil {
			t.Errorf("%s is answered %v", url, err)
			continue
		}
		if violation := (*answer.Problem.Errors)[0]; violation.Pointer != "/webhook_data/webhook_url" || strings.Contains(violation.Detail, "hunter2") {
			t.Errorf("%s: %+v", url, violation)
		}
	}
}
