package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"sync/atomic"

	"github.com/avatarstudio/avatarstudio/client"
)

// tracer is an http.RoundTripper that records a span for each attempt, including logins and retries.
// OpenTelemetry provides one: otelhttp.NewTransport.
type tracer struct {
	next  http.RoundTripper
	spans atomic.Int64
}

func (t *tracer) RoundTrip(request *http.Request) (*http.Response, error) {
	span := t.spans.Add(1)
	request = request.Clone(request.Context()) // a RoundTripper must not change the request
	request.Header.Set("Traceparent", fmt.Sprintf("00-%032x-%016x-01", 1, span))
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	fmt.Println("span", span, request.Method, request.URL.Path, response.StatusCode)
	return response, nil
}

// Tracing, metrics, proxies and certificates are configured on Config.HTTPClient.
func ExampleConfig_tracing() {
	service := newService()
	baseURL, stop := serve(service)
	defer stop()
	studio, err := client.New(client.Config{
		BaseURL:    baseURL,
		Email:      "ada@example.com",
		Password:   "correct horse battery staple",
		Workspace:  "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10",
		HTTPClient: &http.Client{Transport: &tracer{next: http.DefaultTransport}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := studio.ListProjects(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the service saw", service.requests("GET /projects/v2")[0].header.Get("Traceparent"))
	// Output:
	// span 1 POST /users/login 200
	// span 2 GET /projects/v2 200
	// the service saw 00-00000000000000000000000000000001-0000000000000002-01
}
