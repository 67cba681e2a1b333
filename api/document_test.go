package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oasdiff/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func load(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(spec(t))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// element is a part of the document that must cite the interface.
type element struct {
	cites string
	row   row
}

// elements returns all elements that must have x-interface, by element and name.
func elements(t *testing.T, document *openapi3.T) map[string]element {
	t.Helper()
	found := make(map[string]element)
	add := func(extensions map[string]any, r row) {
		cites, _ := extensions["x-interface"].(string)
		r.section = cites
		found[r.element+" "+r.name] = element{cites: cites, row: r}
	}
	operation := func(id string, op *openapi3.Operation) {
		add(op.Extensions, row{element: id})
		for _, p := range op.Parameters {
			r := describe(p.Value.Schema)
			r.element, r.name, r.required = id, p.Value.In+":"+p.Value.Name, p.Value.Required
			add(p.Value.Extensions, r)
		}
	}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			operation(method+" "+path, op)
		}
	}
	for name, item := range document.Webhooks {
		for method, op := range item.Operations() {
			operation(method+" webhook "+name, op)
		}
	}
	for name, schema := range document.Components.Schemas {
		r := describe(schema)
		r.element = name
		add(schema.Value.Extensions, r)
		for property, ref := range schema.Value.Properties {
			r := describe(ref)
			r.element, r.name = name, property
			r.required = slices.Contains(schema.Value.Required, property)
			extensions := ref.Value.Extensions
			if ref.Ref != "" {
				extensions = ref.Extensions
			}
			add(extensions, r)
		}
	}
	return found
}

// describe returns the type, format and values of a schema. For a union with null, it describes the other alternative.
func describe(ref *openapi3.SchemaRef) row {
	schema := ref.Value
	if len(schema.OneOf) == 2 && schema.OneOf[1].Value.Type.Is("null") {
		schema = schema.OneOf[0].Value
	}
	r := row{format: schema.Format}
	for _, typ := range schema.Type.Slice() {
		if typ != "null" {
			r.typ += typ
		}
	}
	if schema.Items != nil {
		r.typ += " of " + strings.Join(schema.Items.Value.Type.Slice(), " or ")
	}
	for _, value := range schema.Enum {
		r.values = append(r.values, fmt.Sprint(value))
	}
	if schema.Const != nil {
		r.values = append(r.values, fmt.Sprint(schema.Const))
	}
	return r
}

func TestDocument_hasEveryRowOfTheInterface(t *testing.T) {
	t.Parallel()
	found := elements(t, load(t))
	for _, want := range interfaceRows() {
		got := found[want.element+" "+want.name].row
		sorted := cmpopts.SortSlices(strings.Compare)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{}), sorted, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s %s (-interface +document):\n%s", want.element, want.name, diff)
		}
	}
}

func TestDocument_elementsCiteTheInterfaceOrAreExtensions(t *testing.T) {
	t.Parallel()
	documented := make(map[string]bool)
	for _, r := range interfaceRows() {
		documented[r.element+" "+r.name] = true
	}
	for key, element := range elements(t, load(t)) {
		switch {
		case element.cites == "":
			t.Errorf("%s has no x-interface", key)
		case element.cites != "extension" && !documented[key]:
			t.Errorf("%s cites section %s, but interfaceRows has no such row", key, element.cites)
		}
	}
}

func TestDocument_endpointsMatchTheInterface(t *testing.T) {
	t.Parallel()
	document := load(t)
	if got := document.Servers[0].URL; got != "{base_url}" {
		t.Errorf("the server is %q, want {base_url}", got)
	}
	scheme := document.Components.SecuritySchemes["bearerAuth"].Value
	if scheme.Type != "http" || scheme.Scheme != "bearer" || scheme.Extensions["x-interface"] != "5" {
		t.Errorf("bearerAuth is %s %s", scheme.Type, scheme.Scheme)
	}
	for _, want := range []struct {
		operation, request, response string
		bearer                       bool
	}{
		{"GET /projects/v2", "", "ProjectList", true},
		{"POST /users/login", "LoginRequest", "TokenPair", false},
		{"POST /v1/avatars/create_avatar", "CreateAvatarRequest", "Avatar", true},
		{"POST /v1/lipsync/create_lipsync", "CreateLipsyncRequest", "Lipsync", true},
	} {
		method, path, _ := strings.Cut(want.operation, " ")
		operation := document.Paths.Value(path).GetOperation(method)
		if got := schemaName(operation.Responses.Value("200").Value.Content); got != want.response {
			t.Errorf("the response of %s is %q, want %q", want.operation, got, want.response)
		}
		request := ""
		if operation.RequestBody != nil {
			request = schemaName(operation.RequestBody.Value.Content)
		}
		if request != want.request {
			t.Errorf("the request of %s is %q, want %q", want.operation, request, want.request)
		}
		if operation.Security == nil || (len(*operation.Security) == 1) != want.bearer {
			t.Errorf("%s has security %v, want bearer %v", want.operation, operation.Security, want.bearer)
		}
	}
	for name, request := range map[string]string{
		"avatar_event": "AvatarEvent", "avatar_inference_event": "AvatarInferenceEvent",
		"lipsync_inference_event": "LipsyncInferenceEvent",
	} {
		if got := schemaName(document.Webhooks[name].Post.RequestBody.Value.Content); got != request {
			t.Errorf("the notification of %s is %q, want %q", name, got, request)
		}
	}
	schemas := document.Components.Schemas
	if got := schemas["ProjectList"].Value.Properties["data"].Value.Items.Ref; got != "#/components/schemas/Project" {
		t.Errorf("the items of a project list are %s", got)
	}
	for name, want := range map[string]string{"thumbnails": "Thumbnails", "tags": "Tags"} {
		if got := schemas["Project"].Value.Properties[name].Value.OneOf[0].Ref; got != "#/components/schemas/"+want {
			t.Errorf("the %s of a project are %s", name, got)
		}
	}
}

func schemaName(content openapi3.Content) string {
	media := content.Get("application/json")
	if media == nil {
		return ""
	}
	return strings.TrimPrefix(media.Schema.Ref, "#/components/schemas/")
}

func TestDocument_isValid(t *testing.T) {
	t.Parallel()
	document := load(t)
	err := document.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation())
	if err != nil {
		t.Fatal(err)
	}
}

// Every request, response and event has an example, and all examples are valid. An optional parameter of an operation
// has none, because Swagger UI would send it.
func TestDocument_examplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	document := load(t)
	check := exampleChecker(t)
	operation := func(id string, op *openapi3.Operation) {
		if op.RequestBody != nil {
			check(id+" request", op.RequestBody.Value.Content)
		}
		for status, response := range op.Responses.Map() {
			if len(response.Value.Content) > 0 {
				check(id+" "+status, response.Value.Content)
			}
		}
	}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			operation(method+" "+path, op)
			for _, parameter := range op.Parameters {
				if p := parameter.Value; p.Required != (p.Example != nil) || p.Examples != nil {
					t.Errorf("%s %s: parameter %s is required (%v), and its example is %v", method, path, p.Name, p.Required, p.Example)
				}
			}
		}
	}
	for name, item := range document.Webhooks {
		operation("webhook "+name, item.Post)
		for _, parameter := range item.Post.Parameters {
			if parameter.Value.Example == nil {
				t.Errorf("webhook %s: parameter %s has no example", name, parameter.Value.Name)
			}
		}
	}
}

func exampleChecker(t *testing.T) func(where string, content openapi3.Content) {
	t.Helper()
	data, err := yaml.YAMLToJSON(spec(t))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", tree); err != nil {
		t.Fatal(err)
	}
	return func(where string, content openapi3.Content) {
		for contentType, media := range content {
			schema, err := compiler.Compile("openapi.json" + media.Schema.Ref)
			if err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			if len(media.Examples) == 0 && !strings.HasSuffix(contentType, "/*") { // an example of a file would show nothing
				t.Errorf("%s %s has no example", where, contentType)
			}
			for name, example := range media.Examples {
				text, err := json.Marshal(example.Value.Value)
				if err != nil {
					t.Fatal(err)
				}
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(value); err != nil {
					t.Errorf("%s example %s: %v", where, name, err)
				}
			}
		}
	}
}

// A document with these mistakes is valid, but confuses code generators or readers.
func TestDocument_hasNoCommonMistakes(t *testing.T) {
	t.Parallel()
	document := load(t)
	ids := make(map[string]bool)
	operation := func(where string, op *openapi3.Operation) {
		if op.OperationID == "" || ids[op.OperationID] {
			t.Errorf("%s: operation id %q is missing or not unique", where, op.OperationID)
		}
		ids[op.OperationID] = true
		if op.Security == nil {
			t.Errorf("%s has no security", where)
		}
		if op.Summary == "" || len(op.Tags) != 1 {
			t.Errorf("%s needs a summary and one tag", where)
		}
	}
	for path, item := range document.Paths.Map() {
		for method, op := range item.Operations() {
			operation(method+" "+path, op)
			for status, response := range op.Responses.Map() {
				if status < "400" {
					continue
				}
				content := response.Value.Content
				if len(content) != 1 || content["application/problem+json"] == nil {
					t.Errorf("%s %s %s is not a problem document", method, path, status)
				}
			}
		}
	}
	for name, item := range document.Webhooks {
		operation("webhook "+name, item.Post)
	}
	for _, name := range slices.Sorted(maps.Keys(document.Components.Schemas)) {
		schema := document.Components.Schemas[name].Value
		if schema.Description == "" {
			t.Errorf("schema %s has no description", name)
		}
		for _, required := range schema.Required {
			if schema.Properties[required] == nil {
				t.Errorf("schema %s requires %s, which is not one of its properties", name, required)
			}
		}
		for property, ref := range schema.Properties {
			if ref.Ref == "" && ref.Value.Type.Is("object") {
				t.Errorf("%s.%s is an object that is not a component", name, property)
			}
			if ref.Value.Nullable || ref.Value.Description == "" {
				t.Errorf("%s.%s uses nullable of OpenAPI 3.0, or has no description", name, property)
			}
		}
	}
}
