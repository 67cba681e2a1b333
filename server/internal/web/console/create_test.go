package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

func TestCreate_createsEachKind(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	form := url.Values{
		"title": {"Ada"}, "base_video_url": {"https://media.example.com/ada.mp4"}, "webhook_url": {"https://hooks.example.com/?token=secret"}, "key": {"one"},
	}
	avatar := v.post("/console/avatars/new", form)
	avatar.want(t, http.StatusOK, `<h1 dir="auto">Ada</h1>`, "It has been created", "https://media.example.com/ada.mp4", "https://hooks.example.com/?…")
	avatar.wantNone(t, "secret")
	if again := v.post("/console/avatars/new", form); again.path != avatar.path {
		t.Errorf("a form that is sent twice creates %s and %s", avatar.path, again.path)
	}
	form.Set("title", "Eve") // after the button Back
	changed := v.post("/console/avatars/new", form)
	changed.want(t, http.StatusUnprocessableEntity, "Send it again to create another avatar.", `value="Eve"`)
	form.Set("key", regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(changed.text)[1])
	v.post("/console/avatars/new", form).want(t, http.StatusOK, `<h1 dir="auto">Eve</h1>`)
	// A URL may be written as in a browser.
	v.post("/console/avatars/new", url.Values{"base_video_url": {"https://MEDIA.example.com/é|?q={\"a\":1}"}, "key": {"two"}}).
		want(t, http.StatusOK, "https://media.example.com/%C3%A9%7C?q={%22a%22:1}")
	empty := v.get("/console/videos/new")
	empty.want(t, http.StatusOK, "You have no published avatar that can speak.")
	empty.wantNone(t, `<form class="create`)
	published := s.createPublished(t, "Published")
	v.get("/console/videos/new?avatar_id="+published.ID).want(t, http.StatusOK, `value="`+published.ID+`" selected>Published`, `<option value="en-gb&#43;Annie">English (Great Britain), Annie, female</option>`)
	video := v.post("/console/videos/new", url.Values{"avatar_id": {published.ID}, "text": {"Good morning."}, "voice": {"de"}, "speed": {"1.25"}})
	video.want(t, http.StatusOK, `<h1 dir="auto">Untitled video</h1>`, "Good morning.", ">Published</a>", `"auto">de</dd>`, ">1.25</dd>")
	hidden := s.createPublished(t, "\u200b\u2066")
	v.post("/console/videos/new", url.Values{"avatar_id": {hidden.ID}, "text": {"Good morning."}}).want(t, http.StatusOK, ">Untitled avatar</a>")
	other := try(s.studio.AddWorkspace(t.Context(), "", "Others"))(t)
	check(t, s.studio.AddMember(t.Context(), other.ID, email))
	v.get("/console/avatars/new").want(t, http.StatusOK, `<option value="`+other.ID+`">Others</option>`)
	v.post("/console/avatars/new", url.Values{"title": {"Chosen"}, "workspace_id": {other.ID}}).want(t, http.StatusOK, "It has been created.")
	v.get("/console/projects?workspace="+other.ID).want(t, http.StatusOK, "Chosen")
	uploaded := v.send(http.MethodPost, "/console/uploads", "video/mp4", "a video")
	var upload gen.Media
	check(t, json.Unmarshal([]byte(uploaded.text), &upload))
	v.post("/console/avatars/new", url.Values{"base_video_url": {upload.URL}}).want(t, http.StatusOK, "an uploaded file")
	v.send(http.MethodPost, "/console/uploads", "text/html", "<script>").want(t, http.StatusUnsupportedMediaType)
	s.newVisitor(t).send(http.MethodPost, "/console/uploads", "video/mp4", "a video").want(t, http.StatusUnauthorized, "Your session has ended.")
	lipsync := v.post("/console/lipsyncs/new", url.Values{"video_url": {"https://media.example.com/a.mp4"}, "use_audio_from_video": {"true"}, "sync_mode": {"loop"}})
	lipsync.want(t, http.StatusOK, ">loop</dd>", "the audio of the video")
}

// Neither the page of an avatar of which no video can be made nor the form offers to make one.
func TestCreate_offersNoVideoThatCannotSucceed(t *testing.T) {
	t.Parallel()
	reason := ""
	s, v := signedIn(t, func(cfg *console.Config) { cfg.NoVideo = func(studio.Subject) string { return reason } })
	avatar := s.createPublished(t, "Ada")
	v.get("/console/avatars/"+avatar.ID).want(t, http.StatusOK, "Create a video")
	v.get("/console/videos/new").want(t, http.StatusOK, `<form class="create`, avatar.ID)
	reason = "It has no face."
	page, form := v.get("/console/avatars/"+avatar.ID), v.get("/console/videos/new?avatar_id="+avatar.ID)
	page.want(t, http.StatusOK, reason, "Videos of this avatar")
	page.wantNone(t, "Create a video")
	form.wantNone(t, avatar.ID+`"`)
}

// A rejected form is shown again with the submitted values, and with the errors of the API at each field.
func TestCreate_showsErrorsOfAPI(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	avatar := s.createPublished(t, "Ada")
	for name, c := range map[string]struct {
		path string
		form url.Values
		want []string
		code int
	}{
		"schema violation": {
			path: "/console/avatars/new", form: url.Values{"title": {hostile}, "base_video_url": {"no address"}},
			want: []string{`value="&lt;script&gt;`, `value="no address"`, `aria-invalid="true"`, `id="base_video_url-error"`}, code: http.StatusBadRequest,
		},
		"refused webhook": {
			path: "/console/lipsyncs/new", form: url.Values{"webhook_url": {"https://refused.example/"}, "audio_url": {"https://media.example.com/a.wav"}},
			want: []string{"The webhook cannot be registered.", `id="webhook_url-error">must not be refused`}, code: http.StatusUnprocessableEntity,
		},
		"unknown avatar":    {path: "/console/videos/new", form: url.Values{"avatar_id": {"none"}, "text": {"Hello"}}, want: []string{"There is no such record."}, code: http.StatusNotFound},
		"no avatar":         {path: "/console/videos/new", form: url.Values{"text": {"Hello"}}, want: []string{`<a href="#avatar_id">Avatar</a>: `}, code: http.StatusBadRequest},
		"nothing to speak":  {path: "/console/videos/new", form: url.Values{"avatar_id": {avatar.ID}, "title": {"Empty"}}, want: []string{`id="text-error">Enter a text, or a recording below.`, `value="Empty"`}, code: http.StatusUnprocessableEntity},
		"nothing to follow": {path: "/console/lipsyncs/new", form: url.Values{"video_url": {"https://media.example.com/a.mp4"}}, want: []string{`id="audio_url-error">Enter a recording, or`}, code: http.StatusUnprocessableEntity},
	} {
		p := v.post(c.path, c.form)
		p.want(t, c.code, c.want...)
		if text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(p.text, ""); regexp.MustCompile(`[a-z]_[a-z]|interface`).MatchString(text) {
			t.Errorf("the page names members of the API:\n%s", text)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
	v.post("/console/avatars/new", url.Values{"title": {strings.Repeat("a", 300_000)}}).want(t, http.StatusRequestEntityTooLarge, "more than 262144 bytes")
	v.send(http.MethodPost, "/console/avatars/new", "application/x-www-form-urlencoded", "%zz").want(t, http.StatusBadRequest, "The form cannot be read.")
	for kind, want := range map[studio.Kind]int{studio.Avatar: 1, studio.Video: 0, studio.Lipsync: 0} {
		page, err := s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: kind}, "", 2)
		if check(t, err); len(page.Subjects) != want {
			t.Errorf("rejected forms created a %s", kind)
		}
	}
}
