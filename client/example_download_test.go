package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// DownloadFile downloads the video of a lip-sync when it is finished. If the program is killed, the next
// run downloads the rest.
func ExampleClient_DownloadFile() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
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
