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
	lipsync, err := studio.GetLipsync(context.Background(), "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41")
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(lipsync); err != nil {
		log.Fatal(err)
	}
}
