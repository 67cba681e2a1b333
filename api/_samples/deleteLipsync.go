package main

import (
	"context"
	"log"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

func main() {
	studio, err := client.New(client.FromEnv())
	if err != nil {
		log.Fatal(err)
	}
	if err := studio.DeleteLipsync(context.Background(), gen.DeleteInferenceRequest{InferenceID: "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52"}); err != nil {
		log.Fatal(err)
	}
}
