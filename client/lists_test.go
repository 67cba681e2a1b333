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

// createLipsyncs creates n lip-syncs and returns their ids, newest first.
func createLipsyncs(t *testing.T, c *client.Client, n int) (ids []string) {
	t.Helper()
	for range n {
		lipsync := try(c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t)
		ids = append([]string{lipsync.InferenceID}, ids...)
	}
	return ids
}

// A list is requested page by page as needed, and each iteration starts over.
func TestLipsyncs_iteratesOverAllPages(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	c := newClient(t, of(service))
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

// An error is the last item of an iteration.
func TestLists_endWithAnError(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	c := newClient(t, of(service))
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
