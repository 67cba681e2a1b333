package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A wait polls the service until the lip-sync has a final status.
func ExampleClient_WaitLipsync() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()

	lipsync, err := studio.CreateLipsync(ctx, gen.CreateLipsyncRequest{Title: gen.Value("Greeting")})
	if err != nil {
		log.Fatal(err)
	}
	lipsync, err = studio.WaitLipsync(ctx, lipsync.InferenceID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lipsync.Status) // succeeded or failed
	// Output:
	// succeeded
}
