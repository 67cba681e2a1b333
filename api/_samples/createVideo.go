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
	video, err := studio.CreateVideo(context.Background(), gen.CreateVideoRequest{
		AvatarID: "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30",
		Text:     gen.Value("Hello, and welcome."),
		Title:    gen.Value("Greeting"),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(video); err != nil {
		log.Fatal(err)
	}
}
