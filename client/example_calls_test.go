package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// FromEnv reads the credentials from the environment. The program sets the other fields.
func ExampleFromEnv() {
	baseURL, stop := startService()
	defer stop()
	os.Setenv("STUDIO_BASE_URL", baseURL)
	os.Setenv("STUDIO_EMAIL", "ada@example.com")
	os.Setenv("STUDIO_PASSWORD", "correct horse battery staple")

	config := client.FromEnv()
	config.Workspace = "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10"
	config.Timeout = 10 * time.Second
	studio, err := client.New(config)
	if err != nil {
		log.Fatal(err)
	}
	projects, err := studio.ListProjects(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(projects.Data), "project, password", config.Password)
	// Output:
	// 1 project, password [hidden]
}

// A key that is stored with the order creates one lip-sync, however often this code runs.
func ExampleWithIdempotencyKey() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
	if err != nil {
		log.Fatal(err)
	}

	lipsync, err := studio.CreateLipsync(context.Background(), gen.CreateLipsyncRequest{
		VideoURL: gen.Value("https://media.example.com/ada.mp4"),
		AudioURL: gen.Value("https://media.example.com/greeting.mp3"),
	}, client.WithIdempotencyKey("order-4711"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lipsync.Status)
	// Output:
	// processing
}

// CallOptions change one call: this one may take longer, is not retried, and shows the response.
func ExampleCallOption() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
	if err != nil {
		log.Fatal(err)
	}

	var response client.Response
	_, err = studio.ListProjects(context.Background(),
		client.WithWorkspace("01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10"),
		client.WithTimeout(2*time.Minute),
		client.WithRetry(client.Retry{Attempts: 1}),
		client.WithResponse(&response),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, response.Header.Get("Content-Type"), response.Attempts)
	// Output:
	// 200 application/json 1
}

// vault is a TokenSource whose tokens another program renews.
type vault struct{ current client.Credential }

func (v *vault) Token(_ context.Context, refused client.Credential) (client.Credential, error) {
	if refused != "" {
		v.current = "access-1" // a real source would ask the other program
	}
	return v.current, nil
}

func ExampleTokenSource() {
	service := newService()
	service.accepted["access-1"] = true
	baseURL, stop := serve(service)
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, TokenSource: &vault{current: "expired"}})
	if err != nil {
		log.Fatal(err)
	}
	avatar, err := studio.GetAvatar(context.Background(), "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(avatar.Status)
	// Output:
	// published
}

// The client adds an idempotency key to each creation, so that it can retry the request. WithResponse
// shows the key.
func ExampleWithResponse() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
	if err != nil {
		log.Fatal(err)
	}

	var response client.Response
	_, err = studio.CreateAvatar(context.Background(), gen.CreateAvatarRequest{Title: gen.Value("Ada")}, client.WithResponse(&response))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, "after", response.Attempts, "attempt, with a key:", response.IdempotencyKey != "")
	// Output:
	// 200 after 1 attempt, with a key: true
}

// Avatars requests one page after another during the iteration.
func ExampleClient_Avatars() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
	if err != nil {
		log.Fatal(err)
	}
	published := client.ListAvatarsParams{Status: new(gen.AvatarStatusPublished)}
	for avatar, err := range studio.Avatars(context.Background(), published) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(avatar.AvatarID, avatar.Status)
	}

	// Output:
	// avatar-2 published
	// avatar-1 published
}
