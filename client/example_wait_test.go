package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A wait polls the service until the lip-sync has a final status.
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
