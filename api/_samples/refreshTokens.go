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
	tokenPair, err := studio.RefreshTokens(context.Background(), gen.RefreshRequest{RefreshToken: "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg"})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(tokenPair); err != nil {
		log.Fatal(err)
	}
}
