// Package smith sends random values of the operations of a random document from the generated client to the generated
// server and back. TestSmith of package api compiles and runs it in a copy of the module.
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
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/smith"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

var (
	seed   = flag.Uint64("smith.seed", 1, "seed of the document and the values")
	values = flag.Int("smith.values", 30, "requests for each operation")
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
	silent   atomic.Bool // the response is invalid, which is no failure
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

// failures shows the errors in the log of the server.
type failures struct {
	*testing.T
	of *service
}

func (f failures) Write(line []byte) (int, error) {
	if !f.of.silent.Load() && bytes.Contains(line, []byte("level=ERROR")) {
		f.Logf("%s", line)
	}
	return len(line), nil
}

type exchange struct {
	*testing.T
	*rand.Rand
	service  *service
	client   *client.Client
	url      string
	document object
	schemas  map[string]*jsonschema.Schema // by schema and direction
	counts   map[string]int                // of exchanges by kind, and of those of each part of the grammar
}

func TestExchange(t *testing.T) {
	t.Parallel()
	s := &service{}
	handler, err := server.New(s, server.Config{
		Middleware:        []gen.StrictMiddlewareFunc{s.intercept},
		ValidateResponses: server.ResponsesEnforced,
		Logger:            slog.New(slog.NewTextHandler(failures{t, s}, nil)),
		Authenticator:     server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, nil }),
	})
	check(t, err)
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	c, err := client.New(client.Config{BaseURL: listener.URL, Retry: client.Retry{Attempts: 1}})
	check(t, err)
	text, err := os.ReadFile("../../../server/document.gen.json")
	check(t, err)
	written := smith.New(*seed)
	_, err = written.Insert([]byte("{}"), *size)
	check(t, err)
	e := &exchange{
		T: t, Rand: rand.New(rand.NewPCG(*seed, 46)), service: s, client: c, url: listener.URL,
		document: parse(text).(object), schemas: map[string]*jsonschema.Schema{}, counts: map[string]int{},
	}
	if n := len(written.Uses()); len(operations) != n {
		t.Errorf("%d of %d operations have code", len(operations), n)
	}
	for _, o := range operations {
		item := e.document["paths"].(object)[o.path].(object)
		o.described = item[strings.ToLower(o.method)].(object)
		o.described["parameters"] = append(list(item["parameters"]), list(o.described["parameters"])...)
		e.counts["operations"]++
		t.Run(o.name, func(t *testing.T) {
			e.T = t
			before := e.counts["sent by the client"]
			if len(o.responses) == 0 {
				t.Fatal("no response has a type")
			}
			for i := 0; i < *values && !t.Failed(); i++ {
				e.exchange(o)
			}
			for _, part := range written.Uses()[o.described["operationId"].(string)] {
				e.counts[part] += e.counts["sent by the client"] - before
			}
		})
	}
	e.T = t
	for _, name := range written.Events() {
		e.notify(name)
	}
	if encoded, err := json.Marshal(e.counts); *report != "" {
		check(t, err)
		check(t, os.WriteFile(*report, encoded, 0o600))
	}
}

// exchange sends random requests of an operation: a valid one with the client, a valid one that another encoder wrote,
// one with a fault, and one whose response has a fault.
func (e *exchange) exchange(o operation) {
	if s, ok := e.sample(o, true); ok {
		called := o
		if _, has := reflect.TypeOf(e.client).MethodByName(o.name + "Stream"); has && e.IntN(2) == 0 {
			called.streamed = true
			e.counts["streams beside JSON"]++
		}
		e.call(called, s)
	}
	if s, ok := e.sample(o, false); ok {
		e.send(o, s)
		e.sendSpoilt(o, s)
		e.respondSpoilt(o, s)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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
