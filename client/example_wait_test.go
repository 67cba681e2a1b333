package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A wait ends as soon as the event arrives in the stream of the service, or else polls the service.
func ExampleClient_WaitLipsync() {
	baseURL, stop := startService()
	defer stop()
	studio, err := client.New(client.Config{BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()

	lipsync, err := studio.CreateLipsync(ctx, gen.CreateLipsyncRequest{Title: gen.Value("Greeting")})
	if err != nil {
		log.Fatal(err)
	}
	lipsync, err = studio.WaitLipsync(ctx, lipsync.InferenceID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lipsync.Status) // succeeded or failed
	// Output:
	// succeeded
}

// With a receiver, a wait ends as soon as the notification arrives.
func ExampleClient_WaitAvatar() {
	baseURL, stop := startService()
	defer stop()
	secret := webhook.NewSecret()
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Unhandled: func(context.Context, gen.Event, webhook.Delivery) error { return nil },
	}, webhook.StandardWebhooks(secret))
	if err != nil {
		log.Fatal(err)
	}
	hooks := httptest.NewServer(receiver) // a real program would use mux.Handle("/avatar-studio", receiver)
	defer hooks.Close()
	studio, err := client.New(client.Config{
		BaseURL: baseURL, Email: "ada@example.com", Password: "correct horse battery staple",
		Receiver: receiver,
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()

	avatar, err := studio.CreateAvatar(ctx, gen.CreateAvatarRequest{
		Title:       gen.Value("Ada"),
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(hooks.URL)}),
		Webhook:     gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	})
	if err != nil {
		log.Fatal(err)
	}
	notify(hooks.URL, secret, `{"event_type":"avatar_event","data":{"avatar_id":"`+avatar.AvatarID+`","status":"published"}}`)

	avatar, err = studio.WaitAvatar(ctx, avatar.AvatarID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(avatar.Status)
	// Output:
	// published
}

// notify sends a signed notification, as the service does.
func notify(url string, secret webhook.Secret, body string) {
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	if err := webhook.Sign(request.Header, "event-1", time.Now(), []byte(body), secret); err != nil {
		log.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
}

// A wait can return when the person must give consent.
func ExampleUntilConsentPending() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		avatar := gen.Avatar{AvatarID: "a-1", Status: gen.AvatarStatusConsentPending}
		if r.Method == http.MethodPost {
			avatar.Status = gen.AvatarStatusPublished
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(avatar)
	}))
	defer service.Close()
	studio, err := client.New(client.Config{BaseURL: service.URL, Token: "a-token"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()

	avatar, err := studio.WaitAvatar(ctx, "a-1", client.UntilConsentPending())
	if err != nil {
		log.Fatal(err)
	}
	if avatar.Status == gen.AvatarStatusConsentPending {
		fmt.Println("may we show you?")
		avatar, err = studio.SubmitConsent(ctx, gen.ConsentRequest{AvatarID: avatar.AvatarID, Granted: true})
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(avatar.Status)
	// Output:
	// may we show you?
	// published
}
