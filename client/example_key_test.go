package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

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
