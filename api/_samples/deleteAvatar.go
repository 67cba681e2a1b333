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
	if err := studio.DeleteAvatar(context.Background(), gen.DeleteAvatarRequest{AvatarID: "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30"}); err != nil {
		log.Fatal(err)
	}
}
