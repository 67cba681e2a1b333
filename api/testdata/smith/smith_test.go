// Package smith sends random values of the operations of a random document from the generated client to the generated
// server and back. TestSmith of package api compiles and runs it in a copy of the module.
package smith

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

var (
	seed   = flag.Uint64("smith.seed", 1, "seed of the values")
	values = flag.Int("smith.values", 20, "values for each schema")
)

// operation is an operation of the document in Go.
type operation struct {
	method, path, name string
	request            reflect.Type
	responses          []reflect.Type
	suffixes           []string // of the names of responses, after that of the operation
}

var operations []operation

type object = map[string]any

// service keeps the last request, and responds with what the test chose.
type service struct {
	server.Unimplemented
	mu       sync.Mutex
	request  any
	response any
}

func (s *service) intercept(gen.StrictHandlerFunc, string) gen.StrictHandlerFunc {
	return func(_ context.Context, _ http.ResponseWriter, _ *http.Request, request any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if v := reflect.ValueOf(request).FieldByName("Body"); v.IsValid() && v.Kind() == reflect.Interface && !v.IsNil() {
			text, err := io.ReadAll(v.Interface().(io.Reader))
			if err != nil {
				return nil, err
			}
			s.request = text
			return s.response, nil
		}
		s.request = request
		return s.response, nil
	}
}

// failures shows the log of responses that the server refuses.
type failures struct{ *testing.T }

func (f failures) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("level=ERROR msg=\"request failed\"")) {
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
	schemas  map[string]*jsonschema.Schema // by pointer and direction
	counts   map[string]int
}

func TestExchange(t *testing.T) {
	t.Parallel()
	s := &service{}
	handler, err := server.New(s, server.Config{
		Middleware:        []gen.StrictMiddlewareFunc{s.intercept},
		ValidateResponses: server.ResponsesEnforced,
		Logger:            slog.New(slog.NewTextHandler(failures{t}, nil)),
		Authenticator:     server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, nil }),
	})
	check(t, err)
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	c, err := client.New(client.Config{BaseURL: listener.URL})
	check(t, err)
	text, err := os.ReadFile("../../../server/document.gen.json")
	check(t, err)
	e := &exchange{
		T: t, Rand: rand.New(rand.NewPCG(*seed, 46)), service: s, client: c, url: listener.URL,
		document: parse(text).(object), schemas: map[string]*jsonschema.Schema{}, counts: map[string]int{},
	}
	for _, o := range operations {
		described := e.document["paths"].(object)[o.path].(object)[strings.ToLower(o.method)].(object)
		t.Run(o.name, func(t *testing.T) {
			e.T = t
			for i := 0; i < *values && !t.Failed(); i++ {
				e.requests(o, described)
			}
		})
	}
	e.T = t
	t.Log(e.counts)
	for _, kind := range []string{"valid request", "invalid request", "valid response"} {
		if e.counts[kind] < len(operations) {
			t.Errorf("%d of %s, which proves little", e.counts[kind], kind)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// same reports whether two values are equal. Members that are null are equal to absent ones if absent is true.
func same(a, b any, absent bool) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(b.String())
		return ok && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return same(x, y, absent) })
	case object:
		b, ok := b.(object)
		if !ok {
			return false
		}
		for name := range merged(a, b) {
			x, isIn := a[name]
			y, isInB := b[name]
			if (isIn != isInB && (!absent || x != nil || y != nil)) || !same(x, y, absent) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func merged(a, b object) object {
	all := object{}
	for name := range a {
		all[name] = nil
	}
	for name := range b {
		all[name] = nil
	}
	return all
}

// requests sends a random request, with parameters and a body.
func (e *exchange) requests(o operation, described object) {
	e.Helper()
	parameters, _ := described["parameters"].([]any)
	given := object{} // by place and name
	for _, p := range parameters {
		p := p.(object)
		at := p["in"].(string) + ":" + p["name"].(string)
		if p["required"] != true && e.IntN(2) == 0 {
			continue
		}
		schema := p["schema"]
		if schema == nil {
			schema = p["content"].(object)["application/json"].(object)["schema"]
		}
		value, ok := e.valid(schema, inRequest, func(value any) bool { return p["content"] != nil || !vanishes(value, p["in"]) })
		if !ok {
			return
		}
		given[at] = value
	}
	body, hasBody := described["requestBody"].(object)
	if !hasBody {
		e.call(o, described, given, nil, "")
		return
	}
	for media, content := range body["content"].(object) {
		schema := content.(object)["schema"]
		if schema == nil && !isJSON(media) {
			schema = object{"type": "string"}
			if media == "application/x-www-form-urlencoded" {
				schema = object{"type": "object", "additionalProperties": schema}
			}
		}
		value, ok := e.valid(schema, inRequest, func(value any) bool { return isJSON(media) || !vanishes(value, "body") })
		if !ok {
			return
		}
		e.call(o, described, given, value, media)
		if spoilt := e.spoil(value); isJSON(media) {
			if err := e.validate(schema, inRequest, spoilt); err != nil {
				e.refused(o, described, media, spoilt, err)
			}
		}
		return
	}
}

// vanishes reports whether a value has no text of its own in a parameter or body.
func vanishes(value any, in any) bool {
	switch value := value.(type) {
	case string:
		return value == "" || in == "path" && strings.Trim(value, ".") == ""
	case []any:
		return len(value) == 0 || slices.ContainsFunc(value, func(one any) bool {
			text, ok := one.(string)
			return ok && (text == "" || in == "header" && strings.ContainsAny(text, ",\""))
		})
	case object:
		return len(value) == 0 && in != "body"
	}
	return false
}

func isJSON(media string) bool { return strings.HasSuffix(media, "json") }

// call sends a valid request with the client, and compares what arrives.
func (e *exchange) call(o operation, described, given object, body any, media string) {
	e.Helper()
	e.counts["valid request"]++
	method := reflect.ValueOf(e.client).MethodByName(o.name)
	t := method.Type()
	arguments := []reflect.Value{reflect.ValueOf(e.Context())}
	parameters, _ := described["parameters"].([]any)
	want := object{}
	params, hasParams := o.request.FieldByName("Params")
	for _, p := range parameters {
		p := p.(object)
		if p["in"] == "path" {
			arguments = append(arguments, e.argument(t.In(len(arguments)), given["path:"+p["name"].(string)]))
		} else if value, ok := given[p["in"].(string)+":"+p["name"].(string)]; ok {
			want[p["name"].(string)] = value
		}
	}
	var options []client.CallOption
	if hasParams {
		named := map[string]object{}
		for _, p := range parameters {
			named[p.(object)["name"].(string)] = p.(object)
		}
		optional := map[string]any{}
		for i := range params.Type.NumField() {
			field := params.Type.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			p := named[name]
			if p == nil {
				e.Fatalf("%s: the field %s has no parameter", o.name, field.Name)
			}
			value, ok := given[p["in"].(string)+":"+name]
			if p["required"] == true {
				arguments = append(arguments, e.argument(t.In(len(arguments)), value))
			} else if ok {
				optional[field.Name] = value
			}
		}
		if len(optional) > 0 {
			options = append(options, e.optional(o, optional))
		}
	}
	var sent any
	if t.NumIn() > len(arguments)+1 && described["requestBody"] != nil {
		if t.In(len(arguments)).Kind() == reflect.String && t.NumIn() > len(arguments)+2 {
			arguments = append(arguments, reflect.ValueOf(media))
		}
		kind := t.In(len(arguments))
		if kind.Kind() == reflect.Interface {
			arguments = append(arguments, reflect.ValueOf(strings.NewReader(fmt.Sprint(body))))
			sent = fmt.Sprint(body)
		} else {
			arguments = append(arguments, e.argument(kind, body))
			sent = body
		}
	}
	expected, ok := e.choose(o, described)
	if !ok {
		return
	}
	e.service.response = expected.response
	var response client.Response
	for _, option := range append(options, client.WithResponse(&response)) {
		arguments = append(arguments, reflect.ValueOf(option))
	}
	result, err := outcome(method.Call(arguments))
	if err != nil && !errors.As(err, new(*client.Error)) && (strings.Contains(err.Error(), "cannot contain this value") || strings.Contains(err.Error(), "has no form")) {
		e.counts["refused by the client"]++ // a parameter has no text for the value
		return
	}
	if e.arrives(o, expected, result, err, &response); e.Failed() {
		return
	}
	e.service.mu.Lock()
	defer e.service.mu.Unlock()
	got := e.service.request
	e.service.request = nil
	if got == nil {
		e.Errorf("%s %s with %s and %s never arrived", o.name, o.path, encoded(given), encoded(body))
		return
	}
	if text, ok := got.([]byte); ok {
		if string(text) != sent {
			e.Errorf("%s: sent %q, got %q", o.name, sent, text)
		}
		return
	}
	v := reflect.ValueOf(got)
	if hasParams {
		if arrived := parse([]byte(encoded(v.FieldByName("Params").Interface()))); !same(want, arrived, false) {
			e.Errorf("%s: the parameters are %s\narrived as %s", o.name, encoded(want), encoded(arrived))
		}
	}
	for _, p := range parameters {
		if p := p.(object); p["in"] == "path" {
			value, found := given["path:"+p["name"].(string)], false
			for i := range v.NumField() {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				if name == p["name"] {
					found = true
					if arrived := parse([]byte(encoded(v.Field(i).Interface()))); !same(value, arrived, false) {
						e.Errorf("%s: %s is %s, arrived as %s", o.name, name, encoded(value), encoded(arrived))
					}
				}
			}
			if !found {
				e.Errorf("%s: no field for %s", o.name, p["name"])
			}
		}
	}
	if field := v.FieldByName("Body"); field.IsValid() && field.Kind() == reflect.Pointer {
		if arrived := parse([]byte(encoded(field.Interface()))); !same(sent, arrived, false) {
			e.Errorf("%s: the body is %s\narrived as %s", o.name, encoded(sent), encoded(arrived))
		}
	}
}

// argument returns a value in the type of an argument.
func (e *exchange) argument(t reflect.Type, value any) reflect.Value {
	e.Helper()
	if base := bases[t]; base != nil { // a type that is declared as another loses its methods
		return e.argument(base, value).Convert(t)
	}
	into := reflect.New(t)
	if err := json.Unmarshal([]byte(encoded(value)), into.Interface()); err != nil {
		e.Errorf("%s is no %s: %v", encoded(value), t, err)
	}
	return into.Elem()
}

// optional returns the option with optional parameters. Its type is found by its fields.
func (e *exchange) optional(o operation, values map[string]any) client.CallOption {
	t := optionTypes[o.name]
	if t == nil {
		e.Fatalf("%s has no optional parameters", o.name)
	}
	into := reflect.New(t).Elem()
	for name, value := range values {
		field := into.FieldByName(name)
		if !field.IsValid() {
			e.Fatalf("%s has no field %s", t, name)
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		field.Set(e.argument(field.Type(), value))
	}
	return into.Interface().(client.CallOption)
}

var (
	optionTypes = map[string]reflect.Type{}
	bases       = map[reflect.Type]reflect.Type{} // of the types of responses
	foreign     = map[string]reflect.Type{
		"json.RawMessage": reflect.TypeFor[json.RawMessage](), "time.Time": reflect.TypeFor[time.Time](), "openapi_types.Date": reflect.TypeFor[openapi_types.Date](),
	}
)

// refused sends an invalid body, and compares the place that the response shows with those of the other validator.
func (e *exchange) refused(o operation, described object, media string, body any, invalid error) {
	e.Helper()
	if hasRequired(described) {
		return // parameters are sent by the client alone
	}
	e.counts["invalid request"]++
	request, err := http.NewRequestWithContext(e.Context(), o.method, e.url+(&url.URL{Path: o.path}).EscapedPath(), strings.NewReader(encoded(body)))
	check(e.T, err)
	request.Header.Set("Content-Type", media)
	response, err := http.DefaultClient.Do(request)
	check(e.T, err)
	defer response.Body.Close()
	var problem gen.Problem
	_ = json.NewDecoder(response.Body).Decode(&problem)
	places := map[string]bool{}
	collect(invalid, places)
	if response.StatusCode != http.StatusBadRequest || problem.Errors == nil {
		e.Errorf("%s: %s has the status %d, invalid in %v", o.name, encoded(body), response.StatusCode, invalid)
		return
	}
	for _, violation := range *problem.Errors {
		parent := violation.Pointer[:max(strings.LastIndex(violation.Pointer, "/"), 0)]
		for place := range places {
			if shows(violation.Pointer, place) || shows(parent, place) {
				return
			}
		}
	}
	e.Errorf("%s: %s is refused at %s, want one of %v", o.name, encoded(body), encoded(problem.Errors), places)
}

// shows reports whether a pointer, in which the members that the document does not name are *, leads to a place.
func shows(pointer, place string) bool {
	return slices.EqualFunc(strings.Split(pointer, "/"), strings.Split(place, "/"), func(a, b string) bool { return a == b || a == "*" })
}

func hasRequired(described object) bool {
	parameters, _ := described["parameters"].([]any)
	return slices.ContainsFunc(parameters, func(p any) bool { return p.(object)["required"] == true })
}

func collect(err error, places map[string]bool) {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return
	}
	var b strings.Builder
	for _, token := range invalid.InstanceLocation {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	places[b.String()] = true
	for _, cause := range invalid.Causes {
		collect(cause, places)
	}
}
