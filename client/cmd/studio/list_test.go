package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
)

// All records can be listed and deleted.
func TestList_printsRecordsAndDeleteRemovesThem(t *testing.T) {
	t.Parallel()
	_, p := startService(t)
	var ids []string
	for _, title := range []string{"One", "Two", "Three"} {
		ids = append([]string{p.must(t, "", "lipsync", "create", "--title", title)}, ids...)
	}
	listed := func(args ...string) (ids []string) {
		t.Helper()
		lines := strings.Split(p.must(t, "", append([]string{"lipsync", "list"}, args...)...), "\n")
		for _, line := range lines[1:] {
			ids = append(ids, strings.Fields(line)[0])
		}
		return ids
	}
	for flag, want := range map[string][]string{"--all": ids, "--limit=2": ids[:2]} {
		if got := listed(flag); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", flag, got, want)
		}
	}
	if out := p.must(t, "", "lipsync", "delete", ids[0]) + p.must(t, "", "lipsync", "delete", "--json", ids[0]); out != `{"id":"`+ids[0]+`","deleted":true}` {
		t.Errorf("deletions print %q", out)
	}
	if got := listed(); !slices.Equal(got, ids[1:]) {
		t.Errorf("left are %v, want %v", got, ids[1:])
	}
	p.mustFail(t, exitNotFound, "404", "lipsync", "show", ids[0])
	p.mustFail(t, exitNotFound, "404", "avatar", "delete", "unknown")
}

// A list ends with the page that has no cursor, and not with an empty one. Members that no program knows, or can read,
// are printed.
func TestList_continuesAfterAnEmptyPage(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":    `{"data":[{"inference_id":"one","status":"failed","new":1,"progress":"half","created_at":"2026-01-12"}],"next_cursor":"two"}`,
		"two": `{"data":[],"next_cursor":"three"}`, "three": `{"data":[{"inference_id":"three","status":"failed"}]}`,
	}
	p := answering(t, func(r *http.Request) string { return pages[r.FormValue("cursor")] })
	for _, flag := range []string{"--all", "--limit=2"} {
		want := `{"inference_id":"one","status":"failed","new":1,"progress":"half","created_at":"2026-01-12"}` + "\n" + `{"inference_id":"three","status":"failed"}`
		if got := p.must(t, "", "video", "list", "--json", flag); got != want {
			t.Errorf("%s lists %s", flag, got)
		}
	}
	pages["three"] = pages[""] // which leads to the second page
	p.mustFail(t, exitFailure, "the cursors of the list repeat", "video", "list", "--all")
}

// The voices of a language are listed, and a video can be spoken by one of them.
func TestVoice_listsVoicesForVideos(t *testing.T) {
	t.Parallel()
	_, p := startService(t)
	avatar := p.must(t, "", "avatar", "create")
	rows := strings.Split(p.must(t, "", "voice", "list", "--language=pt"), "\n")
	if len(rows) != 2 || !strings.HasPrefix(rows[1], "pt-br  pt-BR     male    Portuguese") {
		t.Errorf("voices are %q", rows)
	}
	video := p.must(t, "", "video", "create", "--json", "--avatar", avatar, "--text=Olá.", "--voice=pt-br", "--language=pt-PT", "--speed=0.5")
	wantParts(t, video, `"language":"pt-PT"`, `"speed":0.5`, `"voice":"pt-br"`)
	p.mustFail(t, exitUsage, "the nearest is pt-br", "video", "create", "--avatar", avatar, "--text=Olá.", "--voice=pt")
}

func TestWebhook_rotatesSecretsAndSendsTests(t *testing.T) {
	t.Parallel()
	_, p := startService(t)
	first := p.must(t, "", "webhook", "secret")
	rotated := strings.Split(p.must(t, "", "webhook", "rotate"), "\n")
	if len(rotated) != 2 || rotated[1] != first || !strings.HasPrefix(rotated[0], "whsec_") {
		t.Errorf("there was one secret, and after the rotation there are %d", len(rotated))
	}
	if lines := p.must(t, "", "webhook", "secret", "--json"); strings.Count(lines, `"expires_at"`) != 1 {
		t.Errorf("secrets as JSON: %d lines", strings.Count(lines, "\n")+1)
	}
	in := p.startListening(t)
	if out := p.must(t, "", "webhook", "test", "--event", "lipsync_inference_event", in.url); !strings.HasPrefix(out, "lipsync_inference_event -> 2") {
		t.Errorf("a test prints %q", out)
	}
	harness.Eventually(t, "that the sample is printed", func() bool { return strings.Contains(in.out.String(), "lipsync_inference_event") })
	if code, _, stderr := p.run(t, "", "webhook", "test", "http://127.0.0.1:1/"); code != exitFailure || !strings.Contains(stderr, "no connection") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	p.mustFail(t, exitUsage, "/webhook_url", "webhook", "test", "https://10.0.0.1/")
}

// A failed test of a receiver is a sentence for each error in the document.
func TestWebhookTest_saysWhatHappened(t *testing.T) {
	t.Parallel()
	document := try(os.ReadFile("../../../api/openapi.yaml"))(t)
	_, list, _ := strings.Cut(string(document), "Why the notification was not delivered.\n\n")
	found := 0
	for line := range strings.Lines(list) {
		name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": ")
		if !ok || !strings.HasPrefix(strings.TrimSpace(line), "- ") {
			break
		}
		if found++; name != "status" && failures[name] == "" { // a status is printed
			t.Errorf("nothing says what %q means", name)
		}
	}
	if found != len(failures)+1 {
		t.Errorf("the document has %d errors", found)
	}
}

// Whoever is at an address without TLS learns how to set another.
func TestService_namesItsAddressIfItHasNoTLS(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{io.EOF, tls.RecordHeaderError{Msg: "no TLS"}} { // what a server without TLS does
		closed := unreachable{&http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, cause }}}
		_, err := closed.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost/", nil))
		if err == nil || !strings.Contains(err.Error(), "begins with http://") {
			t.Errorf("error %v", err)
		}
	}
}

// Whoever registers a URL at which nothing listens learns how to see events nevertheless.
func TestEndpoint_listNamesListenIfNothingListens(t *testing.T) {
	t.Parallel()
	for success, listened := range map[string]bool{"": false, `,"last_success_at":"2026-01-12T09:41:12Z"`: true} {
		p := answering(t, func(*http.Request) string {
			return `{"data":[{"endpoint_id":"a","exhausted":0,"state":"failing","url":"http://127.0.0.1:9000/","waiting":1` + success + `}]}`
		})
		if _, _, stderr := p.run(t, "", "endpoint", "list"); listened == strings.Contains(stderr, "studio listen") {
			t.Errorf("that something listened is %v: %q", listened, stderr)
		}
	}
}

// A watch ends with the warnings, where the video is, and the command that downloads it.
func TestWatch_saysHowToGetTheVideo(t *testing.T) {
	t.Parallel()
	p := answering(t, func(*http.Request) string {
		return `{"inference_id":"one","status":"succeeded","video_url":"https://media.example.com/one.mp4",
			"checks":[{"check_name":"speaks_language","check_status":"SUCCESS","message":"Yes."},{"check_name":"heard_in_mono","check_status":"FAILED","message":"It is silent."}]}`
	})
	code, stdout, stderr := p.run(t, "", "lipsync", "watch", "one")
	if code != exitOK || stdout != "one succeeded" || stderr != "warning: It is silent.\nwatch it at https://media.example.com/one.mp4\nor download it with: studio lipsync download one -o lipsync.mp4" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if _, _, stderr := p.run(t, "", "lipsync", "watch", "one", "--json"); stderr != "" {
		t.Errorf("JSON is followed by %q", stderr)
	}
	wantParts(t, p.must(t, "", "lipsync", "get", "one"), "warning  It is silent.\nvideo    https://media.example.com/one.mp4")
}

// The projects of a workspace can be filtered. The videos of lip-syncs are shared by links.
func TestProject_listsAndShares(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	id := p.must(t, "", "lipsync", "create", "--title=Greeting")
	const draft = "01936f3e-7d00-7c4d-8e55-3a7a2b1c0d20"
	s.AddProject(gen.Project{ProjectID: new(draft), Title: new("One"), Status: new("draft")})
	for args, want := range map[string][]string{
		"--status=Published":              {id},
		"--status=draft":                  {draft},
		"--tag=onboarding":                nil,
		"--title=EETING":                  {id},
		"--tag=onboarding --status=draft": nil,
	} {
		table := p.must(t, "", append([]string{"project", "list"}, strings.Fields(args)...)...)
		if lines := strings.Split(table, "\n"); len(lines) != 1+len(want) || len(want) == 1 && !strings.HasPrefix(lines[1], want[0]) {
			t.Errorf("%s lists %s, want %s", args, table, want)
		}
	}
	link := p.must(t, "", "project", "share", id)
	if !strings.HasPrefix(link, s.URL+"/share/"+id+".") || strings.Contains(link, "\n") {
		t.Errorf("the link is %q", link)
	}
	wantParts(t, p.must(t, "", "project", "share", "--json", id), `"smart_url":"`+link+`"`)
	if out := p.must(t, "", "project", "share", "--off", id); out != "" {
		t.Errorf("the end of the sharing prints %q", out)
	}
	p.mustFail(t, exitNotFound, "404", "project", "share", "unknown")
}
