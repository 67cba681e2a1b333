package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// createLipsyncs creates n lip-syncs and returns their ids, newest first.
func createLipsyncs(t *testing.T, c *client.Client, n int) (ids string) {
	t.Helper()
	for range n {
		ids = try(c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{}))(t).InferenceID + " " + ids
	}
	return strings.TrimSpace(ids)
}

// A list is requested page by page as needed, and each iteration starts over.
func TestLipsyncs_iteratesOverAllPages(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	c := newClient(t, of(service))
	want := createLipsyncs(t, c, 5)
	all := c.Lipsyncs(t.Context(), client.ListLipsyncsParams{Limit: new(2)})
	for range 2 {
		if got := try(collect(all, func(l *gen.Lipsync) string { return l.InferenceID }))(t); got != want {
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
	for _, length := range []int{1, 2, 3, 50} {
		page := 0
		circle := newClient(t, static, func(c *client.Config) {
			c.Transport = roundTripper(func(*http.Request) (*http.Response, error) {
				page++
				return respond(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, fmt.Sprintf(`{"data": [], "next_cursor": "%d"}`, page%length)), nil
			})
		})
		_, err := collect(circle.Videos(t.Context()), func(*gen.Video) string { return "" })
		if !errors.Is(err, client.ErrDecode) || page <= length || page > 4*length+4 {
			t.Errorf("a circle of %d cursors ended after %d pages: %v", length, page, err)
		}
	}
	if errorOf(collect(c.Avatars(t.Context(), client.ListLipsyncsParams{}), func(*gen.Avatar) string { return "" })) == nil {
		t.Error("parameters of another list are taken")
	}
}
