package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

func TestCreate_createsEachKind(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		s := newSite(t, db)
		v := s.signIn(t, email)
		avatar := v.post("/console/avatars/new", url.Values{
			"title": {"Ada"}, "base_video_url": {"https://media.example.com/ada.mp4"}, "webhook_url": {"https://hooks.example.com/?token=secret"}, "key": {"one"},
		})
		avatar.want(t, http.StatusOK, "<h1>Ada</h1>", "It has been created", "https://media.example.com/ada.mp4", "https://hooks.example.com/?…")
		if strings.Contains(avatar.text, "secret") {
			t.Error("the query of the webhook is shown")
		}
		again := v.post("/console/avatars/new", url.Values{
			"title": {"Ada"}, "base_video_url": {"https://media.example.com/ada.mp4"}, "webhook_url": {"https://hooks.example.com/?token=secret"}, "key": {"one"},
		})
		if again.path != avatar.path {
			t.Errorf("a form that is sent twice creates %s and %s", avatar.path, again.path)
		}
		v.get("/console/videos/new").want(t, http.StatusOK, "You have no published avatar yet.")
		published := s.createPublished(t, "Published")
		v.get("/console/videos/new?avatar_id="+published.ID).want(t, http.StatusOK, `value="`+published.ID+`" selected>Published`)
		video := v.post("/console/videos/new", url.Values{"avatar_id": {published.ID}, "text": {"Good morning."}})
		video.want(t, http.StatusOK, "<h1>Untitled video</h1>", "Good morning.", ">Published</a>")
		lipsync := v.post("/console/lipsyncs/new", url.Values{"video_url": {"https://media.example.com/a.mp4"}, "use_audio_from_video": {"true"}, "sync_mode": {"loop"}})
		lipsync.want(t, http.StatusOK, "<dd>loop</dd>", "the audio of the video")
	})
}

// A rejected form is shown again with the submitted values, and with the errors of the API at each field.
func TestCreate_showsErrorsOfAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.signIn(t, email)
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
			path: "/console/lipsyncs/new", form: url.Values{"webhook_url": {"https://refused.example/"}},
			want: []string{"The webhook cannot be registered.", `id="webhook_url-error">must not be refused`}, code: http.StatusUnprocessableEntity,
		},
		"unknown avatar": {path: "/console/videos/new", form: url.Values{"avatar_id": {"none"}}, want: []string{"There is no such record."}, code: http.StatusNotFound},
		"missing field":  {path: "/console/videos/new", form: url.Values{}, want: []string{"avatar_id"}, code: http.StatusBadRequest},
	} {
		v.post(c.path, c.form).want(t, c.code, c.want...)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	v.post("/console/avatars/new", url.Values{"title": {strings.Repeat("a", 300_000)}}).want(t, http.StatusRequestEntityTooLarge, "more than 262144 bytes")
	v.send(http.MethodPost, "/console/avatars/new", "application/x-www-form-urlencoded", "%zz").want(t, http.StatusBadRequest, "The form cannot be read.")
	page, err := s.studio.List(t.Context(), studio.SubjectFilter{UserID: s.user.ID, Kind: studio.Avatar}, "", 1)
	if check(t, err); len(page.Subjects) > 0 {
		t.Error("a rejected form created an avatar")
	}
}

func TestUpload_storesFile(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	v := s.signIn(t, email)
	answer := v.send(http.MethodPost, "/console/uploads", "video/mp4", "a video")
	answer.want(t, http.StatusCreated)
	var upload struct {
		URL  string `json:"url"`
		Size int    `json:"size"`
	}
	check(t, json.Unmarshal([]byte(answer.text), &upload))
	if upload.Size != 7 {
		t.Errorf("the response is %s", answer.text)
	}
	v.post("/console/avatars/new", url.Values{"base_video_url": {upload.URL}}).want(t, http.StatusOK, "an uploaded file")
	v.send(http.MethodPost, "/console/uploads", "text/html", "<script>").want(t, http.StatusUnsupportedMediaType)
	if p := s.newVisitor(t).send(http.MethodPost, "/console/uploads", "video/mp4", "a video"); p.path != "/console/login" {
		t.Errorf("a visitor without a session gets %d: %s", p.status, p.text)
	}
}
