package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

func ExampleReceiver() {
	secret, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		panic(err)
	}
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Avatar: func(_ context.Context, event gen.AvatarEvent, delivery webhook.Delivery) error {
			fmt.Printf("avatar %s is %s (event %d)\n", event.Data.AvatarID, event.Data.Status, delivery.Sequence)
			return nil
		},
	}, webhook.StandardWebhooks(secret))
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/avatar-studio", receiver)

	// The service sends these requests.
	for sequence, body := range []string{
		`{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"published"}}`,
		`{"event_type":"avatar_inference_event","data":{"inference_id":"v-1","status":"succeeded"}}`,
	} {
		request := httptest.NewRequest(http.MethodPost, "/avatar-studio", strings.NewReader(body))
		request.Header.Set(webhook.HeaderSequence, fmt.Sprint(sequence+1))
		if err := webhook.Sign(request.Header, fmt.Sprint("event-", sequence), time.Now(), []byte(body), secret); err != nil {
			panic(err)
		}
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, request)
		fmt.Println(response.Code)
	}
	// Output:
	// avatar a-1 is published (event 1)
	// 204
	// 204
}
