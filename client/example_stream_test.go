package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/avatarstudio/avatarstudio/client"
)

// Raw shows a stream whose operation is not in the document. A generated method returns typed items and resumes the
// stream by itself.
func ExampleClient_Raw() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 8\nevent: started\ndata: {\"frames\":250}\n\n: alive\n\n")
		_, _ = io.WriteString(w, "id: 9\nevent: finished\ndata: {\"after\":"+r.Header.Get("Last-Event-ID")+"}\n\n")
	}))
	defer service.Close()
	studio, err := client.New(client.Config{BaseURL: service.URL, Token: "a-token"})
	if err != nil {
		log.Fatal(err)
	}

	for event, err := range studio.Raw(context.Background(), http.MethodGet, "/v1/renderings/events", nil, client.After("7")) {
		if err != nil {
			log.Fatal(err) // errors.Is(err, client.ErrCut) if the connection broke
		}
		fmt.Println(event.ID, event.Event, event.Data)
	}
	// Output:
	// 8 started {"frames":250}
	// 9 finished {"after":7}
}
