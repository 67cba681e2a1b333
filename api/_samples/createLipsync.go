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
	lipsync, err := studio.CreateLipsync(context.Background(), gen.CreateLipsyncRequest{
		AudioURL:    gen.Value("https://api.example.com/media/uploads/01936f3e-bd40-7a84-8d60-3f8ea04c5d63/file.wav?expires=1764432000&signature=bmF0"),
		Description: gen.Value("For the team in Lyon."),
		Title:       gen.Value("Greeting in French"),
		Webhook:     gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value("https://hooks.example.com/avatar-studio")}),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(lipsync); err != nil {
		log.Fatal(err)
	}
}
