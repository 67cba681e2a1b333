package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
)

// A member that cannot be decoded is omitted and listed in LeftOut. The rest of the list is decoded.
func ExampleResponse_leftOut() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"size":2,"unpublished_projects":0,"data":[
			{"title":"Welcome","created_at":"2026-01-12T09:30:00"},
			{"title":"Bienvenue","created_at":"yesterday"}]}`)
	}))
	defer service.Close()
	studio, err := client.New(client.Config{BaseURL: service.URL, Token: "a-token", Workspace: "films"})
	if err != nil {
		log.Fatal(err)
	}

	var response client.Response
	projects, err := studio.ListProjects(context.Background(), client.WithResponse(&response))
	if err != nil {
		log.Fatal(err)
	}
	for _, project := range projects.Data {
		created := "at an unknown time"
		if project.CreatedAt != nil {
			created = project.CreatedAt.Format(time.RFC3339)
		}
		fmt.Println(*project.Title, created)
	}
	fmt.Println("left out:", response.LeftOut)
	// Output:
	// Welcome 2026-01-12T09:30:00Z
	// Bienvenue at an unknown time
	// left out: [/data/1/created_at]
}
