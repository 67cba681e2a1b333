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
	if err := studio.DeleteLipsync(context.Background(), gen.DeleteInferenceRequest{InferenceID: "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41"}); err != nil {
		log.Fatal(err)
	}
}
