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
		AudioURL:    gen.Value("https://media.example.com/bonjour.wav"),
		Description: gen.Value("For the team in Lyon."),
		SyncMode:    gen.Value(gen.SyncModeCutOff),
		Title:       gen.Value("Greeting in French"),
		VideoURL:    gen.Value("https://media.example.com/greeting.mp4"),
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
