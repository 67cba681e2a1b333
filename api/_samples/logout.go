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
	if err := studio.Logout(context.Background(), gen.LogoutRequest{RefreshToken: "c29tZS1vcGFxdWUtcmVmcmVzaC10b2tlbg"}); err != nil {
		log.Fatal(err)
	}
}
