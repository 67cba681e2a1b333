package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func main() {
	studio, err := client.New(client.FromEnv())
	if err != nil {
		log.Fatal(err)
	}
	webhookAttempt, err := studio.TestWebhook(context.Background(), gen.WebhookTestRequest{
		EventType:  gen.EventTypeAvatar,
		WebhookURL: "https://hooks.example.com/avatar-studio",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(webhookAttempt); err != nil {
		log.Fatal(err)
	}
}
