package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// DownloadFile downloads the video of a lip-sync when it is finished. If the program is killed, the next
// run downloads the rest.
func ExampleClient_DownloadFile() {
	baseURL, stop := startStudio()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Token: "a-token"})
	if err != nil {
		log.Fatal(err)
	}
	directory, err := os.MkdirTemp("", "videos-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(directory)
	ctx := context.Background()

	lipsync, err := studio.WaitLipsync(ctx, "1", client.WithProgress(func(done, total int64) {
		fmt.Printf("rendering: %d of %d\n", done, total)
	}))
	if err != nil || lipsync.Status != gen.InferenceStatusSucceeded {
		log.Fatal(err)
	}
	name := filepath.Join(directory, "greeting.mp4")
	if err := studio.DownloadFile(ctx, client.LipsyncFile("1"), name); err != nil {
		log.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", content)
	// Output:
	// rendering: 100 of 100
	// a video
}

// startStudio starts a service whose lip-syncs have succeeded.
func startStudio() (baseURL string, stop func()) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/media/") {
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "out.mp4", time.Time{}, strings.NewReader("a video"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"inference_id":"1","status":"succeeded","progress":100,"video_url":"http://%s/media/out.mp4"}`, r.Host)
	}))
	return service.URL, service.Close
}
