package server_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// creator responds to each creation of a lip-sync with a record.
type creator struct{ server.Unimplemented }

func (creator) CreateLipsync(_ context.Context, request gen.CreateLipsyncRequestObject) (gen.CreateLipsyncResponseObject, error) {
	return gen.CreateLipsync200JSONResponse{Status: gen.InferenceStatusProcessing, Title: request.Body.Title.Value}, nil
}

// The race detector adds allocations: make test-race runs this without it.
func TestAllocations_areCloseToTheGeneratedServer(t *testing.T) {
	const most = 8
	handler := try(server.New(creator{}, server.Config{Authenticator: tokens}))(t)
	allocations := func(handler http.Handler) float64 { // those of the request and the recorder are in both
		return testing.AllocsPerRun(100, func() {
			if response := do(handler, "POST", "/v1/lipsync/create_lipsync", `{"title":"Greeting","webhook":{"enabled":false}}`, bearer("good")...); response.Code != http.StatusOK {
				t.Fatal(response.Code, response.Body)
			}
		})
	}
	alone, with := allocations(gen.Handler(gen.NewStrictHandler(creator{}, nil))), allocations(handler)
	if with-alone > most {
		t.Errorf("%v allocations more than the %v of the generated server, want at most %d", with-alone, alone, most)
	}
}
