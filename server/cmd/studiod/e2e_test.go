package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func registration(url string) (*gen.WebhookData, *gen.WebhookSwitch) {
	return &gen.WebhookData{WebhookURL: &url}, &gen.WebhookSwitch{Enabled: new(true)}
}

func avatarRequest(title, url string) gen.CreateAvatarRequest {
	data, enabled := registration(url)
	return gen.CreateAvatarRequest{
		Title: &title, BaseVideoURL: new("https://media.example.com/ada.mp4"), WebhookData: data, Webhook: enabled,
	}
}

func lipsyncRequest(title, url string) gen.CreateLipsyncRequest {
	data, enabled := registration(url)
	return gen.CreateLipsyncRequest{Title: &title, WebhookData: data, Webhook: enabled}
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

// The way through the whole house: a user logs in, lists projects, creates avatars, videos and
// lip-syncs, and another program is notified of every state there is, in order, once.
func TestStudio(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.RenderTime = 50 * time.Millisecond })
	in := startInbox(t, d.secret, nil)
	ctx := t.Context()

	projects, err := demoProjectsOf(d)
	check(t, err)
	_, err = d.studio.ImportProjects(ctx, projects)
	check(t, err)
	list, err := d.client.ListProjects(ctx)
	check(t, err)
	if len(list.Data) != 12 || list.Size != 9 || list.UnpublishedProjects != 4 {
		t.Errorf("%d projects, counts %d and %d", len(list.Data), list.Size, list.UnpublishedProjects)
	}

	quiet := avatarRequest("Quiet", in.url)
	quiet.Webhook.Enabled = new(false)
	unregistered, err := d.client.CreateAvatar(ctx, quiet)
	check(t, err)
	created, err := d.client.CreateAvatar(ctx, avatarRequest("Ada", in.url), client.WithIdempotencyKey("ada"))
	check(t, err)
	again, err := d.client.CreateAvatar(ctx, avatarRequest("Ada", in.url), client.WithIdempotencyKey("ada"))
	check(t, err)
	if diff := cmp.Diff(created, again); diff != "" || created.Status != gen.AvatarStatusProcessing {
		t.Errorf("the same key answers another avatar:\n%s", diff)
	}
	broken, err := d.client.CreateAvatar(ctx, avatarRequest("Ada [fail]", in.url))
	check(t, err)
	refused, err := d.client.CreateAvatar(ctx, avatarRequest("Ada [no-consent]", in.url))
	check(t, err)
	in.want(t, created.AvatarID, avatarEvents(created.AvatarID, "processing", "consent_pending", "published"))
	in.want(t, broken.AvatarID, avatarEvents(broken.AvatarID, "processing", "failed"))
	in.want(t, refused.AvatarID, avatarEvents(refused.AvatarID, "processing", "consent_pending", "consent_failed"))

	for id, want := range map[string]gen.AvatarStatus{
		created.AvatarID: gen.AvatarStatusPublished, broken.AvatarID: gen.AvatarStatusFailed,
		refused.AvatarID: gen.AvatarStatusConsentFailed,
	} {
		avatar, err := d.client.GetAvatar(ctx, id)
		check(t, err)
		if avatar.Status != want || (avatar.FailureReason == nil) != (want == gen.AvatarStatusPublished) {
			t.Errorf("avatar %s is %s, want %s", *avatar.Title, avatar.Status, want)
		}
	}
	_, err = d.client.CreateVideo(ctx, gen.CreateVideoRequest{AvatarID: broken.AvatarID})
	if !errors.Is(err, client.ErrConflict) {
		t.Errorf("a video of an avatar that failed: %v", err)
	}

	for _, ending := range []struct{ title, status string }{{"Hello", "succeeded"}, {"Hello [fail]", "failed"}} {
		video, err := d.client.CreateVideo(ctx, gen.CreateVideoRequest{
			AvatarID: created.AvatarID, Title: &ending.title, Text: new("Hello."),
		})
		check(t, err)
		in.want(t, video.InferenceID, inferenceEvent("avatar_inference_event", video.InferenceID, ending.status))
		video, err = d.client.GetVideo(ctx, video.InferenceID)
		check(t, err)
		lipsync, err := d.client.CreateLipsync(ctx, lipsyncRequest(ending.title, in.url))
		check(t, err)
		in.want(t, lipsync.InferenceID, inferenceEvent("lipsync_inference_event", lipsync.InferenceID, ending.status))
		lipsync, err = d.client.GetLipsync(ctx, lipsync.InferenceID)
		check(t, err)
		if string(video.Status) != ending.status || string(lipsync.Status) != ending.status {
			t.Errorf("the video is %s and the lip-sync %s, want %s", video.Status, lipsync.Status, ending.status)
		}
	}

	eventually(t, "an avatar without a registration being published", func() bool {
		avatar, err := d.client.GetAvatar(ctx, unregistered.AvatarID)
		check(t, err)
		return avatar.Status == gen.AvatarStatusPublished
	})
	if bodies := in.of(unregistered.AvatarID); len(bodies) != 0 {
		t.Errorf("notifications without a registration: %v", bodies)
	}
	in.want(t, created.AvatarID, avatarEvents(created.AvatarID, "processing", "consent_pending", "published"))
	for _, canary := range []string{testPassword, "canary-query", d.secret.Reveal(), "v1,"} {
		if strings.Contains(d.log.String(), canary) {
			t.Errorf("the log shows %q", canary)
		}
	}
}

func TestStudio_waitsForConsentInManualMode(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.AutoConsent = false })
	in := startInbox(t, d.secret, nil)
	for granted, status := range map[bool]string{true: "published", false: "consent_failed"} {
		avatar, err := d.client.CreateAvatar(t.Context(), avatarRequest("Ada", in.url))
		check(t, err)
		in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending"))
		decided, err := d.client.SubmitConsent(t.Context(), gen.ConsentRequest{AvatarID: avatar.AvatarID, Granted: granted})
		check(t, err)
		if string(decided.Status) != status {
			t.Errorf("granted %v: the avatar is %s", granted, decided.Status)
		}
		in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending", status))
		_, err = d.client.SubmitConsent(t.Context(), gen.ConsentRequest{AvatarID: avatar.AvatarID, Granted: true})
		if !errors.Is(err, client.ErrConflict) {
			t.Errorf("a second decision: %v", err)
		}
	}
}

func TestStudio_deliversAgainWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	refused := false // by the one request that is made at a time
	in := startInbox(t, d.secret, func(w http.ResponseWriter, _ string) bool {
		if refused {
			return false
		}
		refused = true
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	avatar, err := d.client.CreateAvatar(t.Context(), avatarRequest("Ada", in.url))
	check(t, err)
	in.want(t, avatar.AvatarID, avatarEvents(avatar.AvatarID, "processing", "consent_pending", "published"))
	if !refused {
		t.Error("nothing was refused")
	}
}

func TestStudio_refreshesTokensOnce(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	raw := d.client.Raw()
	login, err := raw.LoginWithResponse(t.Context(), gen.LoginRequest{Email: testEmail, Password: testPassword})
	check(t, err)
	refresh := gen.RefreshRequest{RefreshToken: login.JSON200.RefreshToken}
	next, err := raw.RefreshTokensWithResponse(t.Context(), refresh)
	check(t, err)
	if next.JSON200.RefreshToken == refresh.RefreshToken || next.JSON200.AccessToken == "" {
		t.Error("a refresh answers the same refresh token")
	}
	_, err = raw.RefreshTokensWithResponse(t.Context(), refresh)
	if !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a refresh token works twice: %v", err)
	}
}

func TestStudio_refusesWebhooksThatAreNotPublic(t *testing.T) {
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
