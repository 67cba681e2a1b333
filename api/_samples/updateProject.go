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
	project, err := studio.UpdateProject(context.Background(), gen.UpdateProjectRequest{
		ProjectID: "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41",
		Shared:    new(true),
		Tags: new(gen.ProjectTags{
			Colors: new([]string{"#2D7FF9"}),
			Names:  new([]string{"onboarding"}),
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(project); err != nil {
		log.Fatal(err)
	}
}
