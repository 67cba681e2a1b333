package clienttest_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
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
