package share_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/api/rest"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/web/share"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// site is a server with a user, who is a member of a workspace.
type site struct {
	*httptest.Server

	t         *testing.T
	studio    *studio.Service
	media     *media.Store
	user      studio.User
	workspace string
}

func newSite(t *testing.T, db studio.Store) *site {
	t.Helper()
	files := try(media.Open(t.Context(), media.Config{Bucket: "file:" + t.TempDir(), PublicURL: "http://files.example", Key: []byte("key")}))(t)
	t.Cleanup(func() { check(t, files.Close()) })
	cfg := studiotest.Config(db, func() time.Time { return time.Now().UTC() })
	cfg.Media, cfg.PublicURL = files, "https://studio.example"
	s := &site{t: t, studio: studio.New(cfg), media: files}
	s.user = studiotest.AddUser(t, s.studio, "ada@example.com")
	workspace := try(s.studio.AddWorkspace(t.Context(), "", "Team"))(t)
	s.workspace = workspace.ID
	check(t, s.studio.AddMember(t.Context(), s.workspace, s.user.Email))
	s.Server = httptest.NewServer(share.New(s.studio, files.ServeRevocable, rest.MapError))
	t.Cleanup(s.Close)
	return s
}

// all is a rendering with all files.
var all = studio.Rendering{
	Video: "video.mp4", Thumbnail: "thumbnail.jpg", Previews: studio.Previews{Still: "still.png", StillPlay: "still-play.png", Animation: "still.gif"},
	Captions: "speech.vtt", Language: "en-GB", Files: []string{"private.bin"},
}

// share creates and shares a lip-sync with a rendering. It returns its id and the path of its page.
func (s *site) share(made studio.Rendering) (id, page string) {
	s.t.Helper()
	lipsync, err := s.studio.CreateLipsync(s.t.Context(), studio.Creation{
		UserID: s.user.ID, WorkspaceID: s.workspace, Title: new("Greeting"), Request: []byte(`{"description":"a secret"}`), RequestID: "request-id",
	})
	check(s.t, err)
	for _, name := range made.FileNames() {
		check(s.t, s.media.Write(s.t.Context(), studio.ResultKey(lipsync.ID, name), strings.NewReader(name+" <b>0123456789")))
	}
	try(s.studio.Rendered(s.t.Context(), lipsync.ID, made, nil))(s.t)
	return lipsync.ID, s.update(lipsync.ID, studio.ProjectChange{Shared: new(true)})
}

// update changes a project, and returns the path of its page.
func (s *site) update(id string, change studio.ProjectChange) (page string) {
	s.t.Helper()
	project := try(s.studio.UpdateProject(s.t.Context(), s.user.ID, id, change))(s.t)
	return strings.TrimPrefix(s.studio.ShareURL(project.Subject), "https://studio.example")
}

// get requests a path. header is a list of names and values.
func (s *site) get(path string, header ...string) (*http.Response, string) {
	s.t.Helper()
	request := try(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+path, nil))(s.t)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response := try(http.DefaultTransport.RoundTrip(request))(s.t)
	text := try(io.ReadAll(response.Body))(s.t)
	check(s.t, response.Body.Close())
	return response, string(text)
}

// wantPrivate checks that a response tells nobody else of the link, and is not used again without a request.
func wantPrivate(t *testing.T, response *http.Response) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Robots-Tag": "noindex", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Set-Cookie": "",
	} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s: %s is %q", response.Request.URL.Path, name, got)
		}
	}
	if got := response.Header.Get("Cache-Control"); got != "no-store" && got != "private, no-cache" {
		t.Errorf("%s: Cache-Control is %q", response.Request.URL.Path, got)
	}
	if got := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; ") || strings.Contains(got, "script") {
		t.Errorf("%s: the policy is %q", response.Request.URL.Path, got)
	}
}

func TestPage_showsTheTitleAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, studiotest.Open(t, studiotest.NewSQLite(t)))
	id, page := s.share(all)
	response, text := s.get(page)
	wantPrivate(t, response)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s, %s", response.Status, response.Header.Get("Content-Type"))
	}
	link, address := strings.TrimPrefix(page, studio.SharePath), "https://studio.example"+page
	for _, want := range []string{
		`<title>Greeting</title>`, `<h1 dir="auto">Greeting</h1>`, `<meta name="robots" content="noindex">`,
		`src="` + link + `/video.mp4" poster="` + link + `/poster.png"`, `src="` + link + `/captions.vtt" srclang="en-GB"`,
		`property="og:title" content="Greeting"`, `property="og:url" content="` + address + `"`, `property="og:video" content="` + address + `/video.mp4"`,
		`property="og:image" content="` + address + `/preview.png"`, `name="twitter:image" content="` + address + `/preview.png"`,
		`name="twitter:card" content="summary_large_image"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not on the page %s", want, text)
		}
	}
	text = strings.ReplaceAll(text, link, "")
	for _, secret := range []string{s.user.ID, s.user.Email, s.workspace, id, "request-id", "secret", "private", "speech", "still"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is on the page", secret)
		}
	}
}

func TestPage_servesItsFilesOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, studiotest.Open(t, studiotest.NewSQLite(t)))
	_, page := s.share(all)
	for name, want := range map[string]string{
		"video.mp4": "video/mp4 video.mp4", "poster.png": "image/png still.png", "preview.png": "image/png still-play.png", "captions.vtt": "text/vtt speech.vtt",
	} {
		response, text := s.get(page + "/" + name)
		wantPrivate(t, response)
		kind, begin, _ := strings.Cut(want, " ")
		if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != kind || !strings.HasPrefix(text, begin) {
			t.Errorf("%s: %s, %s, %q", name, response.Status, response.Header.Get("Content-Type"), text)
		}
	}
	response, text := s.get(page+"/video.mp4", "Range", "bytes=6-8")
	if response.StatusCode != http.StatusPartialContent || text != "mp4" {
		t.Errorf("a range: %s, %q", response.Status, text)
	}
	for _, name := range []string{"video", "video.webm", "private.bin", "speech.vtt", "thumbnail.jpg", "..%2fvideo.mp4", "captions.html", ""} {
		if response, _ := s.get(page + "/" + name); response.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %s", name, response.Status)
		}
	}

	_, page = s.share(studio.Rendering{Video: "video.mp4", Thumbnail: "thumbnail.jpg"})
	if _, text := s.get(page); !strings.Contains(text, "poster.jpg") || !strings.Contains(text, "preview.jpg") || strings.Contains(text, "<track") {
		t.Errorf("with a thumbnail only: %s", text)
	}
	id, page := s.share(all)
	upload, _, err := s.studio.Upload(t.Context(), s.user.ID, "image/webp", strings.NewReader("custom"))
	check(t, err)
	s.update(id, studio.ProjectChange{CustomThumbnail: &upload.ID})
	for _, name := range []string{"poster.webp", "preview.webp"} {
		if _, text := s.get(page + "/" + name); text != "custom" {
			t.Errorf("%s is %q, want the custom thumbnail", name, text)
		}
	}
}

// A response does not show why a link does not work, and a link does not work again.
func TestPage_isNotFoundForEveryOtherLink(t *testing.T) {
	t.Parallel()
	s := newSite(t, studiotest.Open(t, studiotest.NewPostgres(t)))
	id, page := s.share(all)
	_, other := s.share(all)
	_, want := s.get(studio.SharePath + "other")
	wantNone := func(path string) {
		t.Helper()
		response, text := s.get(path)
		wantPrivate(t, response)
		if response.StatusCode != http.StatusNotFound || text != want {
			t.Errorf("%s: %s, %s", path, response.Status, text)
		}
	}
	link := strings.TrimPrefix(page, studio.SharePath)
	signature := strings.TrimPrefix(link, id)
	for _, path := range []string{
		"", link[:len(link)-1], link + "A", strings.ToUpper(link), "." + link, id, id + ".", signature, link + "/a/b", link + "%2f..",
		id + other[strings.Index(other, "."):], s.user.ID + signature, "%00", "%ff", id + "%00" + signature, strings.Repeat("a", 4000),
	} {
		wantNone(studio.SharePath + path)
	}
	s.update(id, studio.ProjectChange{Shared: new(false)})
	again := s.update(id, studio.ProjectChange{Shared: new(true)})
	for _, path := range []string{"", "/video.mp4", "/captions.vtt"} {
		wantNone(page + path)
	}
	if response, _ := s.get(again); response.StatusCode != http.StatusOK {
		t.Errorf("shared again: %s", response.Status)
	}
	check(t, s.studio.Delete(t.Context(), s.user.ID, studio.Lipsync, id))
	wantNone(again)
	wantNone(again + "/video.mp4")
	_, simulated := s.share(studio.Rendering{})
	wantNone(simulated)
}

// A daemon reads a project at each request, so that a link ends on all of them at once.
func TestPage_endsOnEveryDaemon(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		s := newSite(t, studiotest.Open(t, dsn))
		cfg := s.studio.Config
		cfg.Store = studiotest.Open(t, dsn)
		other := httptest.NewServer(share.New(studio.New(cfg), s.media.ServeRevocable, rest.MapError))
		t.Cleanup(other.Close)
		id, page := s.share(all)
		s.Server = other
		wantStatus := func(want int) {
			t.Helper()
			for _, path := range []string{page, page + "/video.mp4"} {
				if response, _ := s.get(path); response.StatusCode != want {
					t.Errorf("%s is %s, want %d", path, response.Status, want)
				}
			}
		}
		wantStatus(http.StatusOK)
		s.update(id, studio.ProjectChange{Shared: new(false)})
		wantStatus(http.StatusNotFound)
	})
}

// A title is text, also in the preview of a chat.
func TestPage_showsHostileTitlesAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t, studiotest.Open(t, studiotest.NewSQLite(t)))
	id, page := s.share(all)
	for title, want := range map[string]string{
		`</title><script>alert(1)</script>"'>`:  "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&gt;",
		"\u202egnp.\u2066exe\x1b\r\n\tone line": "gnp.exe one line",
		"👩‍👩‍👧‍👦 Family":                        "👩‍👩‍👧‍👦 Family",
		strings.Repeat("é", 10_000):             strings.Repeat("é", 199) + "…",
		"\u200b\u3164\ufe0f":                    "Untitled video",
	} {
		s.update(id, studio.ProjectChange{Title: &title})
		_, text := s.get(page)
		shown := regexp.MustCompile(`(?s)(?:<title>|<h1 dir="auto">|:title" content=")(.*?)(?:</title>|</h1>|">)`).FindAllStringSubmatch(text, -1)
		for _, found := range shown {
			if found[1] != want {
				t.Errorf("%q is shown as %q, want %q", title, found[1], want)
			}
		}
		if len(shown) != 4 {
			t.Errorf("%q is shown %d times", title, len(shown))
		}
	}
}
