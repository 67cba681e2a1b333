package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Everyone who has the link watches a shared video until an operator stops the sharing or it is deleted. The link is in
// no log line.
func TestDaemon_sharesVideos(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database, cfg.Render.Workers = dsn, noWorkers })
	id, link := d.sharedVideo(t)
	if page, text := get(t, link); page.StatusCode != http.StatusOK || !strings.Contains(text, "<video") {
		t.Errorf("the page is %s: %s", page.Status, text)
	}
	wantFile(t, new(link+"/video.mp4"), "video/mp4", "a video")
	must(t, "", "project", "unshare", "--db="+dsn, link)
	if page, _ := get(t, link); page.StatusCode != http.StatusNotFound {
		t.Errorf("after an operator has stopped the sharing: %s", page.Status)
	}
	project := try(d.client.UpdateProject(t.Context(), gen.UpdateProjectRequest{ProjectID: id, Shared: new(true)}))(t)
	link = *project.SmartURL
	check(t, d.client.DeleteLipsync(t.Context(), gen.DeleteInferenceRequest{InferenceID: id}))
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
