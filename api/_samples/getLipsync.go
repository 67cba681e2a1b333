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
	lipsync, err := studio.GetLipsync(context.Background(), "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52")
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(lipsync); err != nil {
		log.Fatal(err)
	}
}
