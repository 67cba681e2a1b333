package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/avatarstudio/avatarstudio/client"
)

func main() {
	studio, err := client.New(client.FromEnv())
	if err != nil {
		log.Fatal(err)
	}
	body, err := os.Open("video.mp4")
	if err != nil {
		log.Fatal(err)
	}
	defer body.Close()

	media, err := studio.UploadMedia(context.Background(), "video/mp4", body)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(media); err != nil {
		log.Fatal(err)
	}
}
