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
	avatar, err := studio.GetAvatar(context.Background(), "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30")
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(avatar); err != nil {
		log.Fatal(err)
	}
}
