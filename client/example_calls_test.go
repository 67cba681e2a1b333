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
