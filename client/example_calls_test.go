package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

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
