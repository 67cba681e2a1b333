package clienttest_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

// A finished video can be downloaded until it is deleted.
func TestDownload_worksUntilDeletion(t *testing.T) {
	t.Parallel()
	service := clienttest.New(t)
	studio, err := client.New(client.Config{BaseURL: service.URL, Email: service.Email, Password: client.Credential(service.Password)})
	check(t, err)
	lipsync, err := studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
	check(t, err)
	id := lipsync.InferenceID
	var video bytes.Buffer
	if err := studio.Download(t.Context(), client.LipsyncFile(id), &video); !errors.Is(err, client.ErrNoFile) {
		t.Errorf("before it has succeeded: %v", err)
	}
	service.SetInference(id, gen.InferenceStatusSucceeded)
	if err := studio.Download(t.Context(), client.LipsyncFile(id), &video); err != nil || video.Len() == 0 {
		t.Errorf("%d bytes, %v", video.Len(), err)
	}
	check(t, studio.DeleteLipsync(t.Context(), gen.DeleteInferenceRequest{InferenceID: id}))
	if err := studio.Download(t.Context(), client.LipsyncFile(id), &video); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}
