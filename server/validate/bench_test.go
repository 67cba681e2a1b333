package validate_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const lipsyncBody = `{"title":"Greeting","video_url":"https://m.example.com/a.mp4",` +
	`"audio_url":"https://m.example.com/a.wav","webhook":{"enabled":true}}`

// largeBody returns a body of 52 KB.
func largeBody() string { return `{"more":[` + strings.Repeat(lipsyncBody+",", 394) + `0]}` }

func benchmarkHandler(b *testing.B, o *validate.Operation, body []byte) {
	handler := o.Handler(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		func(_ http.ResponseWriter, _ *http.Request, err error) { b.Fatal(err) },
	)
	r := jsonRequest(o.Method(), o.Path(), string(body))
	reader := bytes.NewReader(body)
	r.Body = io.NopCloser(reader)
	rw := httptest.NewRecorder()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		handler.ServeHTTP(rw, r)
	}
}

func BenchmarkHandler_createLipsync(b *testing.B) {
	_, v := compileSpec(b)
	o, _ := v.Operation("POST", "/v1/lipsync/create_lipsync")
	b.Run("small", func(b *testing.B) { benchmarkHandler(b, o, []byte(lipsyncBody)) })
	b.Run("large", func(b *testing.B) { benchmarkHandler(b, o, []byte(largeBody())) })
}

func BenchmarkHandler_refused(b *testing.B) {
	_, v := compileSpec(b)
	o, _ := v.Operation("POST", "/users/login")
	handler := o.Handler(nil, func(http.ResponseWriter, *http.Request, error) {})
	body := []byte(`{"email":7}`)
	r := jsonRequest(o.Method(), o.Path(), string(body))
	reader := bytes.NewReader(body)
	r.Body = io.NopCloser(reader)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		handler.ServeHTTP(nil, r)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := validate.Load(api.Spec, validate.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
