package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Everyone who has the link watches a shared video until an operator stops the sharing or it is deleted. The link is in
// no log line.
func TestDaemon_sharesVideos(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database, cfg.Render.Workers = dsn, noWorkers })
	lipsync, err := d.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{Title: gen.Value("Greeting")})
	check(t, err)
	check(t, d.media.Write(t.Context(), studio.ResultKey(lipsync.InferenceID, "out.mp4"), strings.NewReader("a video")))
	_, err = d.studio.Rendered(t.Context(), lipsync.InferenceID, studio.Rendering{Video: "out.mp4"}, nil)
	check(t, err)
	project, err := d.client.UpdateProject(t.Context(), gen.UpdateProjectRequest{ProjectID: lipsync.InferenceID, Shared: new(true)})
	check(t, err)
	link := *project.SmartURL
	if page, text := get(t, link); page.StatusCode != http.StatusOK || !strings.Contains(text, "<h1 dir=\"auto\">Greeting</h1>") {
		t.Errorf("the page is %s: %s", page.Status, text)
	}
	wantFile(t, new(link+"/video.mp4"), "video/mp4", "a video")
	must(t, "", "project", "unshare", "--db="+dsn, link)
	if page, _ := get(t, link); page.StatusCode != http.StatusNotFound {
		t.Errorf("after an operator has stopped the sharing: %s", page.Status)
	}
	fails(t, exitUsage, "no such shared video", "project", "unshare", "--db="+dsn, link)
	project, err = d.client.UpdateProject(t.Context(), gen.UpdateProjectRequest{ProjectID: lipsync.InferenceID, Shared: new(true)})
	check(t, err)
	link = *project.SmartURL
	check(t, d.client.DeleteLipsync(t.Context(), gen.DeleteInferenceRequest{InferenceID: lipsync.InferenceID}))
	for _, url := range []string{link, link + "/video.mp4"} {
		if page, _ := get(t, url); page.StatusCode != http.StatusNotFound {
			t.Errorf("after the deletion: %s", page.Status)
		}
	}
	for _, want := range []string{"route=/share/{link} status=200", "route=/share/{link}/{file} status=200", "route=/share/{link} status=404"} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log has no %s", want)
		}
	}
	if _, signature, _ := strings.Cut(link[strings.LastIndex(link, "/"):], "."); signature == "" || strings.Contains(d.log.String(), signature) {
		t.Errorf("the log has the signature %q", signature)
	}
}
