package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

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
