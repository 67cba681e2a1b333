package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

func newStudio(t *testing.T, service *clienttest.Service) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: service.URL, Email: service.Email, Password: client.Credential(service.Password)})
	check(t, err)
	return c
}

// createLipsyncs creates n lip-syncs and returns their ids, newest first.
func createLipsyncs(t *testing.T, c *client.Client, n int) (ids []string) {
	t.Helper()
	for range n {
		lipsync, err := c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
		check(t, err)
		ids = append([]string{lipsync.InferenceID}, ids...)
	}
	return ids
}

// A list is requested page by page as needed, and each iteration starts over.
func TestLipsyncs_iteratesOverAllPages(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	c := newStudio(t, service)
	want := createLipsyncs(t, c, 5)
	all := c.Lipsyncs(t.Context(), client.ListLipsyncsParams{Limit: new(2)})
	for range 2 {
		var got []string
		for lipsync, err := range all {
			check(t, err)
			got = append(got, lipsync.InferenceID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for _, err := range all { // requests the first page only
		check(t, err)
		break
	}
	if requests := service.Requests("listLipsyncs"); len(requests) != 7 {
		t.Errorf("%d pages were read, want 2 times 3 and 1", len(requests))
	}
}

func TestAvatars_filters(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	c := newStudio(t, service)
	var ids []string
	for range 3 {
		avatar, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{Title: gen.Value("Ada")})
		check(t, err)
		ids = append(ids, avatar.AvatarID)
	}
	service.SetAvatar(ids[1], gen.AvatarStatusPublished)
	video, err := c.CreateVideo(t.Context(), gen.CreateVideoRequest{AvatarID: ids[1]})
	check(t, err)
	for avatar, err := range c.Avatars(t.Context(), client.ListAvatarsParams{Status: new(gen.AvatarStatusPublished)}) {
		if err != nil || avatar.AvatarID != ids[1] {
			t.Errorf("avatar %v, error %v", avatar, err)
		}
	}
	for title, want := range map[string]int{"ADA": 3, "Bob": 0} {
		found := 0
		for _, err := range c.Avatars(t.Context(), client.ListAvatarsParams{Title: &title}) {
			check(t, err)
			found++
		}
		if found != want {
			t.Errorf("%q is in %d titles, want %d", title, found, want)
		}
		projects, err := c.ListProjects(t.Context(), client.WithWorkspace(service.Workspace), client.ListProjectsParams{Title: &title})
		check(t, err)
		if len(projects.Data) != want || projects.Size != 4 {
			t.Errorf("%q is in the titles of %d projects, want %d; the size is %d", title, len(projects.Data), want, projects.Size)
		}
	}
	for of, want := range map[string]int{ids[0]: 0, ids[1]: 1} {
		found := 0
		for got, err := range c.Videos(t.Context(), client.ListVideosParams{AvatarID: &of}) {
			if err != nil || got.InferenceID != video.InferenceID {
				t.Errorf("video %v, error %v", got, err)
			}
			found++
		}
		if found != want {
			t.Errorf("%d videos of %s, want %d", found, of, want)
		}
	}
}

// An error is the last item of an iteration.
func TestLists_endWithAnError(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	c := newStudio(t, service)
	createLipsyncs(t, c, 3)
	service.Fail("listLipsyncs", 1, clienttest.Status(500))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []error
	for _, err := range c.Lipsyncs(ctx, client.ListLipsyncsParams{Limit: new(2)}) {
		got = append(got, err)
		cancel() // the second page is never requested
	}
	if len(got) != 3 || got[0] != nil || got[1] != nil || !errors.Is(got[2], context.Canceled) {
		t.Errorf("errors %v", got)
	}
	for _, err := range c.Avatars(t.Context(), client.ListLipsyncsParams{}) { // an option of another list
		if err == nil {
			t.Error("parameters of another list are taken")
		}
	}
}
