package clienttest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

func TestPublishing(t *testing.T) {
	service := clienttest.New(t)
	studio, err := client.New(client.Config{
		BaseURL:  service.URL,
		Email:    service.Email,
		Password: client.Credential(service.Password),
	})
	if err != nil {
		t.Fatal(err)
	}
	avatar, err := studio.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
	if err != nil {
		t.Fatal(err)
	}

	service.SetAvatar(avatar.AvatarID, gen.AvatarStatusPublished)
	service.ExpireTokens() // the client must renew its token

	avatar, err = studio.GetAvatar(t.Context(), avatar.AvatarID)
	if err != nil || avatar.Status != gen.AvatarStatusPublished {
		t.Errorf("avatar %v, error %v", avatar, err)
	}
}

// titles is the code under test: it lists projects and retries for a minute if the service fails.
func titles(ctx context.Context, studio *client.Client) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		list, err := studio.ListProjects(ctx)
		switch {
		case err == nil:
			var titles []string
			for _, project := range list.Data {
				if project.Title != nil {
					titles = append(titles, *project.Title)
				}
			}
			return titles, nil
		case !errors.Is(err, client.ErrServer):
			return nil, err
		}
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// In a synctest bubble the delays take no time.
func TestTitles_whileTheServiceIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := clienttest.NewInMemory(t)
		service.AddProject(gen.Project{Title: new("Welcome to the team")})
		service.Fail("listProjects", 2, clienttest.Status(http.StatusServiceUnavailable))
		studio, err := client.New(client.Config{
			BaseURL:    service.URL,
			Email:      service.Email,
			Password:   client.Credential(service.Password),
			Workspace:  service.Workspace,
			HTTPClient: service.HTTPClient(),
		})
		if err != nil {
			t.Fatal(err)
		}

		got, err := titles(t.Context(), studio)
		if err != nil || !slices.Equal(got, []string{"Welcome to the team"}) {
			t.Errorf("titles %q, error %v", got, err)
		}
		if calls := service.Requests("listProjects"); len(calls) != 3 {
			t.Errorf("%d calls, want 3", len(calls))
		}
	})
}

// A receiver accepts a notification that is delivered twice, and refuses one that the service did not
// sign.
func TestReceiver_acceptsDuplicatesAndRefusesForgeries(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	states := map[string]gen.AvatarStatus{}
	receiver, err := webhook.NewReceiver(webhook.Handlers{
		Avatar: func(_ context.Context, event gen.AvatarEvent, _ webhook.Delivery) error {
			states[event.Data.AvatarID] = event.Data.Status
			return nil
		},
	}, webhook.StandardWebhooks(service.Secret))
	if err != nil {
		t.Fatal(err)
	}
	program := httptest.NewServer(receiver)
	defer program.Close()
	studio, err := client.New(client.Config{
		BaseURL: service.URL, Email: service.Email, Password: client.Credential(service.Password),
	})
	if err != nil {
		t.Fatal(err)
	}
	avatar, err := studio.CreateAvatar(t.Context(), gen.CreateAvatarRequest{
		WebhookData: gen.Value(gen.WebhookData{WebhookURL: gen.Value(program.URL)}),
		Webhook:     gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
	})
	if err != nil {
		t.Fatal(err)
	}

	service.SetAvatar(avatar.AvatarID, gen.AvatarStatusPublished)
	for _, attempt := range service.Deliver() { // processing, consent_pending and published
		if !attempt.Delivered() {
			t.Errorf("attempt %+v", attempt)
		}
	}
	last := service.Events(avatar.AvatarID)[2]
	if again := service.Fire(last); !again.Delivered() {
		t.Errorf("the same once more: %+v", again)
	}
	if forged := service.Fire(last, webhook.NewSecret()); forged.Status != http.StatusUnauthorized {
		t.Errorf("signed by somebody else: %+v", forged)
	}
	if state := states[avatar.AvatarID]; state != gen.AvatarStatusPublished {
		t.Errorf("the program thinks the avatar is %s", state)
	}
}
