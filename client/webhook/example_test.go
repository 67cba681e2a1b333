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
		post(mux, "/avatar-studio", fmt.Sprint("event-", sequence), body, func(request *http.Request) {
			sign(request, body, secret)
			request.Header.Set(webhook.HeaderSequence, fmt.Sprint(sequence+1))
		})
	}
	// Output:
	// avatar a-1 is published (event 1)
	// 204
	// 204
}

// avatarsOnly returns handlers for avatars.
func avatarsOnly() webhook.Handlers {
	return webhook.Handlers{
		Avatar: func(_ context.Context, event gen.AvatarEvent, _ webhook.Delivery) error {
			fmt.Println("avatar", event.Data.AvatarID, "is", event.Data.Status)
			return nil
		},
	}
}

// post sends a notification, as the service does, and prints the status of the response.
func post(receiver http.Handler, target, id, body string, prepare func(*http.Request)) {
	request := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	request.Header.Set(webhook.HeaderID, id)
	prepare(request)
	answer := httptest.NewRecorder()
	receiver.ServeHTTP(answer, request)
	fmt.Println(answer.Code)
}

func sign(request *http.Request, body string, secrets ...webhook.Secret) {
	if err := webhook.Sign(request.Header, request.Header.Get(webhook.HeaderID), time.Now(), []byte(body), secrets...); err != nil {
		panic(err)
	}
}

// A token in the registered URL authenticates a service that does not sign notifications.
func ExampleTokenInURL() {
	receiver, err := webhook.NewReceiver(avatarsOnly(), webhook.TokenInURL("token", "4dD0nE6Jr2mQvWq8"))
	if err != nil {
		panic(err)
	}
	body := `{"event_type":"avatar_event","data":{"avatar_id":"a-1","status":"published"}}`
	for _, target := range []string{"/avatar-studio?token=4dD0nE6Jr2mQvWq8", "/avatar-studio"} {
		post(receiver, target, "event-1", body, func(*http.Request) {})
	}
	// Output:
	// avatar a-1 is published
	// 204
	// 401
}
