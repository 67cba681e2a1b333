package validate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
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
		example := media.Examples[name].Value.Value
		if text, ok := example.(string); ok { // a stream
			all = append(all, text)
			continue
		}
		encoded, err := json.Marshal(example)
		harness.Check(tb, err)
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
	doc, v := compileSpec(t)
	count := 0
	for o := range v.Operations() {
		count++
		source := doc.Paths.Value(o.Path()).GetOperation(o.Method())
		if o.ID() != source.OperationID || o.Public() != (source.Security != nil && len(*source.Security) == 0) {
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

// Operations without an operationId have distinct ids.
func TestOperation_ID_isUniqueWithoutOperationID(t *testing.T) {
	t.Parallel()
	const op = `{"responses": {"200": {"description": "d"}}}`
	v := compile(t, `{"paths": {"/a": {"get": `+op+`, "put": `+op+`}}}`)
	var ids []string
	for o := range v.Operations() {
		ids = append(ids, o.ID())
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"GET /a", "PUT /a"}) {
		t.Errorf("the ids are %q", ids)
	}
}

// The document of the service has the constraints that its bodies need.
func TestSpec_bodiesAreConstrained(t *testing.T) {
	t.Parallel()
	_, v := compileSpec(t)
	login, _ := v.Operation("POST", "/users/login")
	lipsync, _ := v.Operation("POST", "/v1/lipsync/create_lipsync")
	event, _ := v.Webhook("avatar_event")
	for _, c := range []struct {
		name       string
		o          *validate.Operation
		body, want string
	}{
		{"null", login, `null`, " type"},
		{"nothing", login, `{}`, "/email required, /password required"},
		{"unknown member", login, `{"email": "a", "password": "c", "more": {"x": [1.0]}}`, "ok"},
		{"kept members", lipsync, `{"new": {"a": 1e400}, "title": null}`, "ok"},
		{
			"sibling of a $ref", lipsync, `{"webhook": {"enabled": "yes"}, "webhook_data": {"webhook_url": 1}}`,
			"/webhook/enabled type, /webhook_data/webhook_url type",
		},
		{"const", event, `{"event_type": "lipsync_inference_event", "data": {"avatar_id": "a", "status": "failed"}}`, "/event_type const"},
		{"enum behind a $ref", event, `{"event_type": "avatar_event", "data": {"avatar_id": "a", "status": "done"}}`, "/data/status enum"},
	} {
		err := serve(t, c.o, jsonRequest("POST", "/", c.body)).err
		if got := violations(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	project, _ := v.Schema("Project")
	checkBodies(t, project, map[string]string{
		`{"created_at": "2026-02-30T00:00:00Z"}`: "/created_at format",
		`{"user_id": "x", "thumbnails": null}`:   "/user_id format",
		`{"tags": {"colors": [1]}}`:              "/tags/colors/0 type",
		`{"available_credits": 1.0}`:             "/available_credits type",
		`{"available_credits": 1e19}`:            "/available_credits type",
		`{"status": 1}`:                          "/status type",
	})
}
