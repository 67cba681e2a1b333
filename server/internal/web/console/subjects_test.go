package console_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/web/console"
)

func TestSubjects_showStateProgressAndReason(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	v.get("/console/avatars").want(t, http.StatusOK, "Create your first avatar")
	made := s.create(t, studio.Avatar, "Ada "+hostile)
	failed := s.create(t, studio.Avatar, "Bob")
	check(t, s.studio.Progressed(t.Context(), made.ID, studio.Progress{Done: 0.42}))
	try(s.studio.Rendered(t.Context(), failed.ID, studio.Rendering{}, &studio.RenderError{Reason: "There is no face." + hostile}))(t)
	all := v.get("/console/avatars")
	all.want(t, http.StatusOK, "Ada &lt;script", `value="42"`, "There is no face.&lt;script", `class="badge failed">failed`)
	only := v.get("/console/avatars?status=failed")
	only.want(t, http.StatusOK, "Bob")
	only.wantNone(t, "Ada")
	all.wantNone(t, "<script>document")
	found := v.get("/console/avatars?status=processing&title=ADA")
	found.want(t, http.StatusOK, "Ada &lt;script", `value="ADA"`, `href="/console/avatars?status=failed&amp;title=ADA"`, `href="/console/avatars?title=ADA"`)
	v.get("/console/avatars?status=failed&title=ADA").want(t, http.StatusOK, "Nothing found.")
	v.get("/console/avatars?title=none").want(t, http.StatusOK, "Nothing found.")
	v.get("/console/avatars/"+made.ID).want(t, http.StatusOK, "Ada &lt;script", `value="42"`, "Give consent", "cannot be undone")
	v.get("/console/lipsyncs").want(t, http.StatusOK, "Create your first lip-sync")
}

// The page of an avatar says what the service decides about consent. Failures and checks name fields as the form does.
func TestSubjects_sayWhoDecidesAboutConsent(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	avatar := s.create(t, studio.Avatar, "Ada")
	path := "/console/avatars/" + avatar.ID
	v.get(path).want(t, http.StatusOK, "It is published only if that person consents.")
	s.studio.AutoConsent = func(studio.Subject) bool { return false }
	p := v.get(path)
	p.want(t, http.StatusOK, "This service refuses consent for you")
	p.wantNone(t, "only if that person consents")
	_, err := s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, &studio.RenderError{
		Reason: "The base_video_url could not be fetched.", Checks: []studio.Check{{Name: "one_face", Message: "The file of base_video_url has no face. Send audio_url instead."}},
	})
	check(t, err)
	v.get(path).want(t, http.StatusOK, "The video or photo could not be fetched.", "<strong>one face</strong>", "The file of the video or photo has no face. Send the recording instead.")
}

// The subjects of other users do not exist for a user, in any request.
func TestSubjects_areHiddenFromOtherUsers(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	avatar := s.create(t, studio.Avatar, "Ada")
	check(t, s.media.Write(t.Context(), studio.ResultKey(avatar.ID, "still.png"), strings.NewReader("png")))
	try(s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{Thumbnail: "still.png"}, nil))(t)
	ada, bob := s.signIn(t, email), s.join(t, "bob@example.com", studio.NoRole)
	path := "/console/avatars/" + avatar.ID
	for _, below := range []string{"", "/live", "/delete", "/thumbnail"} {
		bob.get(path+below).want(t, http.StatusNotFound)
		if below != "/live" {
			ada.get(path+below).want(t, http.StatusOK)
		}
	}
	bob.post(path+"/delete", nil).want(t, http.StatusNotFound)
	bob.post(path+"/consent", url.Values{"granted": {"true"}}).want(t, http.StatusNotFound)
	if p := s.newVisitor(t).get(path + "/thumbnail"); p.path != "/console/login" {
		t.Errorf("a visitor without a session gets %s", p.text)
	}
	ada.get(path).want(t, http.StatusOK, `class="badge consent_pending">consent pending`, path+"/thumbnail")
	ada.get("/console/lipsyncs/"+avatar.ID).want(t, http.StatusNotFound)
	ada.get(path+"/video").want(t, http.StatusNotFound)
}

func TestSubjects_submitConsentAndDelete(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	for granted, status := range map[string]string{"true": "published", "false": "consent failed"} {
		avatar := s.create(t, studio.Avatar, "Ada")
		try(s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)
		path := "/console/avatars/" + avatar.ID
		v.post(path+"/consent", nil).want(t, http.StatusNotFound) // no decision
		v.post(path+"/consent", url.Values{"granted": {granted}}).want(t, http.StatusOK, ">"+status+"<", `role="status">Consent is `)
		v.post(path+"/consent", url.Values{"granted": {granted}}).want(t, http.StatusConflict, "The avatar is in a final state.")
		v.get(path+"/delete").want(t, http.StatusOK, "cannot be undone")
		v.post(path+"/delete", nil).want(t, http.StatusOK, "It has been deleted.")
		v.get(path).want(t, http.StatusNotFound)
	}
}

// fragments reads the events of a stream.
type fragments struct {
	*stream.Reader

	t *testing.T
}

func (v *visitor) stream(t *testing.T, path string) fragments {
	t.Helper()
	request := try(http.NewRequestWithContext(t.Context(), http.MethodGet, v.site.URL+path, nil))(t)
	response := try(v.http.Do(request))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	reader := try(stream.NewReader(response.Body, response.Header.Get("Content-Type"), 1<<20))(t)
	return fragments{reader, t}
}

// next returns the next event. At the end of the stream, the name is "".
func (s fragments) next() (name, data string) {
	s.t.Helper()
	frame, err := s.Next()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.t.Error(err)
	}
	return string(frame.Event), string(frame.Data)
}

func (s fragments) want(name, part string) {
	s.t.Helper()
	if got, data := s.next(); got != name || !strings.Contains(data, part) {
		s.t.Fatalf("event %s: %s; want %s with %q", got, data, name, part)
	}
}

// wantSoon reads states until one contains part. It is the state after an event, because a page of a site with
// rarelyPolled is rendered without an event after half a minute.
func (s fragments) wantSoon(part string) {
	s.t.Helper()
	began := time.Now()
	for name, data := s.next(); !strings.Contains(data, part); name, data = s.next() {
		if name != "state" {
			s.t.Fatalf("event %s: %s; want a state with %q", name, data, part)
		}
	}
	if took := time.Since(began); took > 28*time.Second {
		s.t.Errorf("%q is shown after %v", part, took)
	}
}

func rarelyPolled(cfg *console.Config) { cfg.PollInterval = 2 * time.Second }

// A stream starts with the current state and sends every change. It ends with a final state, with the deletion of
// the subject and with the session.
func TestSubjects_streamChanges(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	lipsync := s.create(t, studio.Lipsync, "Hello")
	one, all := v.stream(t, "/console/lipsyncs/"+lipsync.ID+"/live"), v.stream(t, "/console/lipsyncs/live")
	one.want("state", "In the queue")
	all.want("state", "In the queue")
	claimed, _, err := s.store.ClaimRenderings(t.Context(), "0d7f6f3c-6f0e-4a53-a2b3-3c1f6f3d0f55", time.Now(), 1)
	if check(t, err); len(claimed) != 1 {
		t.Fatal("no rendering is due")
	}
	one.want("state", `value="0"`)
	all.want("state", `value="0"`)
	check(t, s.studio.Progressed(t.Context(), lipsync.ID, studio.Progress{Done: 0.5, Stage: "drawing", Left: 30 * time.Minute}))
	one.want("state", `value="50"`)
	all.want("state", "Drawing the pictures, about 30 min left")
	try(s.studio.Rendered(t.Context(), lipsync.ID, studio.Rendering{Video: "video.mp4"}, nil))(t)
	one.want("state", `src="/console/lipsyncs/`+lipsync.ID+`/video"`)
	one.want("done", "")
	all.want("state", "succeeded")
	check(t, s.studio.Delete(t.Context(), s.user.ID, studio.Lipsync, lipsync.ID))
	all.want("state", "Create your first lip-sync")

	wantEnd := func(notice string, end func(id string) error) {
		another := s.create(t, studio.Lipsync, "Again")
		one := v.stream(t, "/console/lipsyncs/"+another.ID+"/live")
		one.want("state", "processing")
		check(t, end(another.ID))
		one.want("state", notice)
		one.want("done", "")
	}
	wantEnd("has been deleted", func(id string) error { return s.studio.Delete(t.Context(), s.user.ID, studio.Lipsync, id) })
	wantEnd("You have been signed out.", func(string) error { return s.studio.EndSessions(t.Context(), studio.User{}, email) })
}

func TestSubjects_arePaginated(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	for i := range 50 {
		s.create(t, studio.Lipsync, fmt.Sprintf("Take %d.", i))
	}
	p := v.get("/console/lipsyncs")
	p.want(t, http.StatusOK, "Take 49.", "Take 26.", `rel="next"`)
	_, link, _ := strings.Cut(p.text, `href="/console/lipsyncs?cursor=`)
	cursor, _, _ := strings.Cut(link, `"`)
	second := v.get("/console/lipsyncs?cursor=" + cursor)
	second.want(t, http.StatusOK, "Take 25.", "Take 2.", "← Newest", `rel="next"`)
	second.wantNone(t, "Take 26.")
	v.get("/console/avatars?cursor="+cursor).want(t, http.StatusBadRequest)
}
