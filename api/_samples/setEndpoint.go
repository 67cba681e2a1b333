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
	endpoint, err := studio.SetEndpoint(context.Background(), gen.SetEndpointRequest{
		EndpointID: "ZW5kcG9pbnQtMg",
		State:      gen.EndpointSwitchPaused,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(endpoint); err != nil {
		log.Fatal(err)
	}
}
