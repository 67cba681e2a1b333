package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func Example() {
	baseURL, stop := startService()
	defer stop()

	// The client logs in by itself when a call first needs a token.
	studio, err := client.New(client.Config{
		BaseURL:   baseURL,
		Email:     "ada@example.com",
		Password:  "correct horse battery staple",
		Workspace: "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	projects, err := studio.ListProjects(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, project := range projects.Data {
		fmt.Println("project:", gen.Or(project.Title, "untitled")) // any member of a project may be missing
	}

	avatar, err := studio.CreateAvatar(ctx, gen.CreateAvatarRequest{
		Title:        gen.Value("Ada"),
		BaseVideoURL: gen.Value("https://media.example.com/ada.mp4"),
		WebhookData:  gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com/avatar-studio")}),
		Webhook:      gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	}, client.WithIdempotencyKey("ada-1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("avatar:", avatar.AvatarID, avatar.Status)
	// Output:
	// project: Welcome to the team
	// avatar: 01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30 processing
}

func ExampleError() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "guess"})
	if err != nil {
		log.Fatal(err)
	}

	_, err = studio.GetAvatar(context.Background(), "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30")
	if errors.Is(err, client.ErrUnauthorized) {
		fmt.Println("wrong email or password")
	}
	if answer, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(answer.StatusCode, gen.Or(answer.Problem.Detail, "without a reason"))
	}
	fmt.Println(err)
	// Output:
	// wrong email or password
	// 401 The email or the password is wrong.
	// client: POST /users/login: 401 Unauthorized: The email or the password is wrong. (request r-1)
}

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

	lipsync, err := studio.WaitLipsync(ctx, "1")
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
	// a video
}
