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
	replay, err := studio.ReplayEvents(context.Background(), gen.ReplayRequest{
		EventIDs: new([]string{"01936f40-0000-8000-8000-000000000003"}),
		States:   new([]gen.ReplayState{gen.ReplayStateExhausted, gen.ReplayStateDelivered}),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(replay); err != nil {
		log.Fatal(err)
	}
}
