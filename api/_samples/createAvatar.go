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
	avatar, err := studio.CreateAvatar(context.Background(), gen.CreateAvatarRequest{
		Title:       gen.Value("Ada"),
		Webhook:     gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com/avatar-studio")}),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(avatar); err != nil {
		log.Fatal(err)
	}
}
