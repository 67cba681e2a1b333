package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

const (
	createLipsync = "/v1/lipsync/create_lipsync"
	goodToken     = "good-token"
	title         = "Greeting"
	smallBody     = `{"title":"` + title + `","webhook_data":{"webhook_url":"https://hooks.example.com/avatar-studio"},` +
		`"webhook":{"enabled":true}}`
	goodHeader = "Content-Type: application/json\r\nAuthorization: Bearer " + goodToken + "\r\n"
)

// largeBody returns smallBody with 52 KB of additional members. The contract does not define these members, but a
// server keeps them.
func largeBody() string {
	const element = `{"title":"Greeting","video_url":"https://m.example.com/a.mp4",` +
		`"audio_url":"https://m.example.com/a.wav","webhook":{"enabled":true}}`
	return strings.TrimSuffix(smallBody, "}") + `,"more":[` + strings.Repeat(element+",", 393) + `0]}`
}

// The names of the request bodies.
const (
	small = "small"
	large = "large"
)

// lipsync returns the expected response of every variant.
func lipsync(title *string) gen.Lipsync {
	at := time.Date(2026, time.January, 12, 9, 50, 0, 0, time.UTC)
	return gen.Lipsync{
		InferenceID: "01936f3e-ac30-7f73-9c5a-2e7d9a3f4b52",
		Status:      gen.InferenceStatusProcessing,
		Title:       title,
		CreatedAt:   &at,
		UpdatedAt:   &at,
	}
}

// call sends the same request repeatedly to a handler, without allocating memory itself.
type call struct {
	template http.Request
	request  http.Request
	text     string
	body     requestBody
	recorder recorder
}

// newCall parses the request with net/http, so that handlers see what a server would pass them.
func newCall(method, path, header, body string) *call {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(measure.Request(method, path, header, body))))
	if err != nil {
		panic(err) // requests are constants
	}
	return &call{template: *r, text: body, recorder: recorder{header: make(http.Header)}}
}

func (c *call) serve(handler http.Handler) {
	c.body.Reset(c.text)
	clear(c.recorder.header)
	c.recorder.status, c.recorder.body = 0, c.recorder.body[:0]
	c.request = c.template
	c.request.Body = &c.body
	handler.ServeHTTP(&c.recorder, &c.request)
}

type requestBody struct{ strings.Reader }

func (*requestBody) Close() error { return nil }

// recorder is a reusable http.ResponseWriter.
type recorder struct {
	header http.Header
	status int
	body   []byte
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(body []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	r.body = append(r.body, body...)
	return len(body), nil
}

// verify returns an error unless the last response is that of every variant.
func (c *call) verify() error {
	text := title
	expected, err := json.Marshal(lipsync(&text))
	if err != nil {
		return err
	}
	var got, want any
	if err := json.Unmarshal(expected, &want); err != nil {
		return err
	}
	if c.recorder.status != http.StatusOK || json.Unmarshal(c.recorder.body, &got) != nil || !reflect.DeepEqual(got, want) {
		return fmt.Errorf("unexpected response: status %d: %s", c.recorder.status, c.recorder.body)
	}
	return nil
}
