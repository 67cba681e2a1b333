package validate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// described is a compiled operation with its source.
type described struct {
	*validate.Operation
	source *openapi3.Operation
}

// allOperations returns all operations and webhooks of the document of the service.
func allOperations(tb testing.TB) []described {
	tb.Helper()
	doc, v := compileSpec(tb)
	var all []described
	for o := range v.Operations() {
		all = append(all, describe(o, doc.Paths.Value(o.Path())))
	}
	for name, item := range doc.Webhooks {
		o, ok := v.Webhook(name)
		if !ok {
			tb.Fatalf("webhook %s is missing", name)
		}
		all = append(all, describe(o, item))
	}
	return all
}

func describe(o *validate.Operation, item *openapi3.PathItem) described {
	source := *item.GetOperation(o.Method())
	source.Parameters = slices.Concat(source.Parameters, item.Parameters)
	return described{o, &source}
}

// request returns a request with the examples of all parameters that have one.
func (d described) request(tb testing.TB, body string) *http.Request {
	tb.Helper()
	r := jsonRequest(d.Method(), "/", body)
	query := r.URL.Query()
	for _, p := range d.source.Parameters {
		switch text := fmt.Sprint(p.Value.Example); {
		case p.Value.Example == nil:
		case p.Value.In == "query":
			query.Set(p.Value.Name, text)
		default:
			r.Header.Set(p.Value.Name, text)
		}
	}
	r.URL.RawQuery = query.Encode()
	return r
}

// requestBodies returns the JSON examples of the request body, or one empty body if there is no request body.
func (d described) requestBodies(tb testing.TB) []string {
	tb.Helper()
	if d.source.RequestBody == nil {
		return []string{""}
	}
	media := d.source.RequestBody.Value.Content["application/json"]
	if media == nil {
		return nil // media types with arbitrary bytes have no examples
	}
	return examples(tb, media)
}

func examples(tb testing.TB, media *openapi3.MediaType) []string {
	tb.Helper()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		encoded, err := json.Marshal(media.Examples[name].Value.Value)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, string(encoded))
	}
	return all
}

// All examples in the document of the service are valid.
func TestSpec_examplesAreValid(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, d := range allOperations(t) {
		for _, body := range d.requestBodies(t) {
			checked++
			if got := serve(t, d.Operation, d.request(t, body)); got.err != nil || got.body != body {
				t.Errorf("%s %s: %v", d.ID(), body, got.err)
			}
		}
		for name, answer := range d.source.Responses.Map() {
			status, err := strconv.Atoi(name)
			if err != nil {
				status = 299
			}
			if len(answer.Value.Content) == 0 {
				if err := d.Response(status, http.Header{}, nil); err != nil {
					t.Errorf("%s %s: %v", d.ID(), name, err)
				}
			}
			for mediaType, media := range answer.Value.Content {
				for _, body := range examples(t, media) {
					checked++
					header := http.Header{"Content-Type": {mediaType}}
					if err := d.Response(status, header, []byte(body)); err != nil {
						t.Errorf("%s %s %s: %v", d.ID(), name, body, err)
					}
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d examples have been checked", checked)
	}
}

func TestSpec_operationsAreCompiled(t *testing.T) {
	t.Parallel()
	_, v := compileSpec(t)
	public := map[string]bool{"login": true, "refreshTokens": true}
	count := 0
	for o := range v.Operations() {
		count++
		if o.ID() == "" || o.Public() != public[o.ID()] {
			t.Errorf("%s %s: id %q, public %v", o.Method(), o.Path(), o.ID(), o.Public())
		}
		if found, ok := v.Operation(o.Method(), o.Path()); !ok || found != o {
			t.Errorf("%s is not found", o.ID())
		}
	}
	if count < 10 {
		t.Errorf("there are %d operations", count)
	}
	if _, ok := v.Operation("GET", "/users/login"); ok {
		t.Error("an operation that does not exist is found")
	}
	if o, ok := v.Webhook("avatar_event"); !ok || o.ID() != "notifyAvatarEvent" || o.Path() != "avatar_event" || o.Method() != "POST" {
		t.Error("the webhook is not found")
	}
	if _, ok := v.Webhook("other"); ok {
		t.Error("a webhook that does not exist is found")
	}
	if _, ok := v.Schema("Other"); ok {
		t.Error("a schema that does not exist is found")
	}
}

// The URL in servers is not part of the paths.
func TestLoad_ignoresServers(t *testing.T) {
	t.Parallel()
	v := compile(t, `{"servers": [{"url": "{base_url}/v9", "variables": {"base_url": {"default": "http://a"}}}],
		"paths": {"/p": {"servers": [{"url": "/x"}], "get": {"servers": [{"url": "/y"}], "responses": {"200": {"description": "d"}}}}}}`)
	o, ok := v.Operation("GET", "/p")
	if !ok || serve(t, o, httptest.NewRequest("GET", "/anything", nil)).err != nil {
		t.Error("the operation is not served")
	}
}
