package render_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

func TestInputs_Fetch_acceptsOnlyMedia(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		w.Header().Set("Content-Type", cmp.Or(query.Get("type"), "video/mp4"))
		if query.Has("length") {
			w.Header().Set("Content-Length", query.Get("length"))
		}
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.WriteHeader(cmp.Or(status, http.StatusNotFound))
		_, err := io.WriteString(w, query.Get("body"))
		for block := bytes.Repeat([]byte("a"), 1<<20); err == nil && query.Has("endless"); {
			_, err = w.Write(block)
		}
	}))
	t.Cleanup(web.Close)
	guarded, err := sender.New(sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	harness.Check(t, err)
	t.Cleanup(guarded.Close)
	cfg := studiotest.Config(studiotest.Open(t, studiotest.NewSQLite(t)), time.Now)
	service := studio.New(cfg)
	ada, bob := studiotest.AddUser(t, service, "ada@example.com"), studiotest.AddUser(t, service, "bob@example.com")
	subject := try(service.CreateLipsync(t.Context(), studio.Creation{UserID: ada.ID, Request: []byte("{}")}))(t)
	harness.Check(t, cfg.Media.Write(t.Context(), studio.ResultKey(subject.ID, "out.mp4"), strings.NewReader("video")))
	inputs := render.Inputs{Sender: guarded, Studio: service, Key: func(address string) (string, bool) {
		if key, ok := strings.CutPrefix(address, web.URL+"/media/"); ok {
			return strings.TrimSuffix(key, "?signed"), strings.HasSuffix(key, "?signed")
		}
		return "", false
	}}
	own := web.URL + "/media/" + studio.ResultKey(subject.ID, "out.mp4")
	foreign, elsewhere := subject, subject
	foreign.UserID, elsewhere.WorkspaceID = bob.ID, "another"
	for _, test := range []struct {
		subject studio.Subject
		url     string
		reason  string // "" when the file is fetched
		retry   bool
	}{
		{subject, web.URL + "/200?body=video", "", false},
		{subject, own, "", false},
		{foreign, own + "?signed", "", false},
		{elsewhere, own + "?signed", "", false},
		{elsewhere, own, "could not be fetched: its host answers 404.", false}, // or a key for a workspace had the files of all
		{foreign, own, "could not be fetched: its host answers 404.", false},   // requested like any other URL
		{subject, web.URL + "/media/results/none?signed", "does not exist any more.", false},
		{subject, web.URL + "/200?type=text/html&body=video", "is no video, picture or sound: its host says so by its Content-Type.", false},
		{subject, web.URL + "/200?type=audio/mpegurl&body=video", "is no video, picture or sound: its host says so by its Content-Type.", false},
		{subject, web.URL + "/200?length=314572801", "is larger than 300 MiB.", false},
		{subject, web.URL + "/200?endless", "is larger than 300 MiB.", false},
		{subject, web.URL + "/200?length=100&body=video", "could not be fetched whole.", true},
		{subject, web.URL + "/500", "could not be fetched: its host answers 500.", true},
		{subject, web.URL + "/425", "could not be fetched: its host answers 425.", true},
		{subject, web.URL + "/429", "could not be fetched: its host answers 429.", true},
		{subject, web.URL + "/200", "is empty.", false},
		{subject, web.URL + "/404", "could not be fetched: its host answers 404.", false},
		{subject, "http://10.0.0.1/video", "must have a host that is a public address.", false},
		{subject, "file:///etc/passwd", "must be an absolute http or https URL.", false},
	} {
		path := filepath.Join(t.TempDir(), "input")
		if strings.HasSuffix(test.url, "?endless") {
			path = os.DevNull
		}
		file := try(os.Create(path))(t)
		err = errors.Join(inputs.Fetch(t.Context(), test.subject, test.url, file), file.Close())
		failure, failed := errors.AsType[*studio.RenderError](err)
		if failed != (test.reason != "") || failed && (failure.Reason != test.reason || failure.Retry != test.retry) {
			t.Errorf("%s: %+v, %v", test.url, failure, err)
		}
		if content, _ := os.ReadFile(path); err == nil && string(content) != "video" {
			t.Errorf("%s: %q", test.url, content)
		}
	}
}
