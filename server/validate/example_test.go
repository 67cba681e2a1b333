package validate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// The receiver only gets notifications that the document allows. Events of unknown types are passed on.
func ExampleValidator_Webhook() {
	validator, err := validate.Load(api.Spec, validate.Config{})
	if err != nil {
		panic(err)
	}
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Unhandled: func(_ context.Context, event gen.Event, _ webhook.Delivery) error {
			fmt.Println("received", event.EventType)
			return nil
		},
	}, webhook.Unverified()) // use StandardWebhooks
	if err != nil {
		panic(err)
	}
	refuse := func(w http.ResponseWriter, _ *http.Request, err error) {
		fmt.Println(err)
		w.WriteHeader(http.StatusBadRequest)
	}
	front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			refuse(w, r, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var event gen.Event
		_ = json.Unmarshal(body, &event) // the receiver rejects invalid events
		if operation, ok := validator.Webhook(string(event.EventType)); ok {
			operation.Handler(receiver, refuse).ServeHTTP(w, r)
			return
		}
		receiver.ServeHTTP(w, r)
	})

	for _, body := range []string{
		`{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"published"}}`,
		`{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":7}}`,
		`{"event_type":"billing_event"}`,
	} {
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		front.ServeHTTP(answer, request)
		fmt.Println(answer.Code)
	}
	// Output:
	// received avatar_event
	// 204
	// validate: The request does not match the interface. [/data/status must be a string]
	// 400
	// received billing_event
	// 204
}
