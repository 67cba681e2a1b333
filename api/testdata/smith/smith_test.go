// Package smith sends random values of the operations of a random document from the generated client to the generated
// server and back, and texts that a reader could take for nothing. A test of package api,
// TestSmith_valuesArriveOrAreRefused, compiles and runs it in a copy of the module.
package smith

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/smith"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

var (
	seed   = flag.Uint64("smith.seed", 1, "seed of the document and the values")
	values = flag.Int("smith.values", 50, "requests for each operation")
	size   = flag.Int("smith.operations", 40, "operations of the document")
	report = flag.String("smith.report", "", "file to which the numbers of exchanges are written")
)

// operation is an operation of the document in Go.
type operation struct {
	method, path, name string
	request            reflect.Type
	responses          []response
	described          object
	streamed           bool // by the second method of the client
}

// response is the type of a response.
type response struct {
	suffix string // of its name, after that of the operation
	media  string // or "" if the response has none or a range
	of     reflect.Type
}

var operations []operation

type object = map[string]any

// service keeps the last request, and responds with what the test chose.
type service struct {
	server.Unimplemented
	mu       sync.Mutex
	request  any
	read     any // what the body contains if it is a reader
	response any
}

func (s *service) intercept(gen.StrictHandlerFunc, string) gen.StrictHandlerFunc {
	return func(_ context.Context, _ http.ResponseWriter, _ *http.Request, request any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.request, s.read = request, nil
		body := reflect.ValueOf(request).FieldByName("Body")
		if !body.IsValid() || isNil(body) {
			return s.response, nil
		}
		var err error
		switch body := body.Interface().(type) {
		case *multipart.Reader:
			s.read, err = parts(body)
		case io.Reader:
			var text []byte
			text, err = io.ReadAll(body)
			s.read = string(text)
		}
		return s.response, err
	}
}

// take returns the last request, once.
func (s *service) take() (request, read any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request, s.request = s.request, nil
	return request, s.read
}

type exchange struct {
	*testing.T
	*rand.Rand
	service  *service
	client   *client.Client
	change   func(*http.Request) // changes what the client sends, or nil
	document object
	schemas  map[string]*jsonschema.Schema // by schema and direction
	counts   map[string]int                // of exchanges by kind, and of those of each part of the grammar
}

// RoundTrip sends a request of the client.
func (e *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.change != nil {
		r = r.Clone(r.Context())
		e.change(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func newExchange(t *testing.T) *exchange {
	t.Helper()
	s := &service{}
	handler, err := server.New(s, server.Config{
		Middleware:        []gen.StrictMiddlewareFunc{s.intercept},
		ValidateResponses: true,
		Logger:            slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Authenticator:     server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, nil }),
	})
	harness.Check(t, err)
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	text := harness.Try(os.ReadFile("../../../server/document.gen.json"))(t)
	e := &exchange{
		T: t, Rand: rand.New(rand.NewPCG(*seed, 46)), service: s,
		document: parse(text).(object), schemas: map[string]*jsonschema.Schema{}, counts: map[string]int{},
	}
	e.client, err = client.New(client.Config{BaseURL: listener.URL, Retry: client.Retry{Attempts: 1}, Transport: e})
	harness.Check(t, err)
	return e
}

// each calls visit with each operation whose path begins with a prefix.
func (e *exchange) each(prefix string, visit func(operation)) {
	for _, o := range operations {
		if !strings.HasPrefix(o.path, prefix) {
			continue
		}
		item := e.document["paths"].(object)[o.path].(object)
		o.described = item[strings.ToLower(o.method)].(object)
		o.described["parameters"] = append(list(item["parameters"]), list(o.described["parameters"])...)
		t := e.T
		t.Run(o.name, func(t *testing.T) {
			if e.T = t; len(o.responses) == 0 {
				t.Fatal("no response has a type")
			}
			visit(o)
		})
		e.T = t
	}
}

func TestExchange(t *testing.T) {
	t.Parallel()
	e := newExchange(t)
	written := smith.New(*seed)
	harness.Try(written.Insert([]byte("{}"), *size))(t)
	e.each("/smith/", func(o operation) {
		before := e.counts["sent by the client"]
		for i := 0; i < *values && !e.Failed(); i++ {
			e.exchange(o)
		}
		e.counts["operations"]++
		for _, part := range written.Uses()[o.described["operationId"].(string)] {
			e.counts[part] += e.counts["sent by the client"] - before
		}
	})
	if n := len(written.Uses()); e.counts["operations"] != n {
		t.Errorf("%d of %d operations have code", e.counts["operations"], n)
	}
	for _, name := range written.Events() {
		e.notify(name)
	}
	if *report != "" {
		harness.Check(t, os.WriteFile(*report, harness.Try(json.Marshal(e.counts))(t), 0o600))
	}
}

// exchange sends random requests of an operation: a valid one, one with a fault, and one whose response has a fault.
func (e *exchange) exchange(o operation) {
	if _, has := reflect.TypeOf(e.client).MethodByName(o.name + "Stream"); has && e.IntN(2) == 0 {
		o.streamed = true
		e.counts["streams beside JSON"]++
	}
	if s, ok := e.sample(o); ok {
		e.call(o, s)
		e.sendSpoilt(o, s)
		e.respondSpoilt(o, s)
	}
}

// resolve follows the references of a value of the document.
func (e *exchange) resolve(value any) object {
	for {
		o, _ := value.(object)
		pointer, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		value = e.document
		for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
			value = value.(object)[token]
		}
	}
}

func list(value any) []any {
	all, _ := value.([]any)
	return all
}

// parse returns the value of JSON. Numbers are json.Number.
func parse(text []byte) any {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	return value
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
