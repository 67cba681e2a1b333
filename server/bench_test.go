package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

const lipsyncBody = `{"title":"Greeting","webhook_data":{"webhook_url":"https://hooks.example.com/studio"},"webhook":{"enabled":true}}`

// creator responds to each creation of a lip-sync with the same record.
type creator struct{ server.Unimplemented }

func (creator) CreateLipsync(_ context.Context, request gen.CreateLipsyncRequestObject) (gen.CreateLipsyncResponseObject, error) {
	created := time.Unix(1765272000, 0).UTC()
	return gen.CreateLipsync200JSONResponse{
		InferenceID: "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52", Status: gen.InferenceStatusProcessing, Title: request.Body.Title.Value,
		CreatedAt: &created, UpdatedAt: &created,
	}, nil
}

// discard is a ResponseWriter that drops everything.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(body []byte) (int, error) { return len(body), nil }
func (d *discard) WriteHeader(status int)         { d.status = status }

// oneRequest returns a function that sends the same request each time.
func oneRequest(tb testing.TB, handler http.Handler) func() {
	tb.Helper()
	target := &url.URL{Path: "/v1/lipsync/create_lipsync"}
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer good"}}
	body := bytes.NewReader([]byte(lipsyncBody))
	response := &discard{header: make(http.Header)}
	template := http.Request{
		Method: http.MethodPost, URL: target, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(lipsyncBody)), Host: "studio.example.com", RequestURI: target.Path,
	}
	return func() {
		body.Reset([]byte(lipsyncBody))
		clear(response.header)
		request := template
		request.Body = io.NopCloser(body)
		handler.ServeHTTP(response, &request)
		if response.status != http.StatusOK {
			tb.Fatalf("status is %d", response.status)
		}
	}
}

// The race detector adds allocations: make test-race runs this without it.
func TestAllocations_areCloseToTheGeneratedServer(t *testing.T) {
	const most = 8
	handler, err := server.New(creator{}, server.Config{Authenticator: tokens})
	check(t, err)
	alone := testing.AllocsPerRun(100, oneRequest(t, gen.Handler(gen.NewStrictHandler(creator{}, nil))))
	with := testing.AllocsPerRun(100, oneRequest(t, handler))
	if with-alone > most {
		t.Errorf("%v allocations more than the %v of the generated server, want at most %d", with-alone, alone, most)
	}
}
