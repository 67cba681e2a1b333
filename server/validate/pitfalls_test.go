package validate_test

import (
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Values that other validators of OpenAPI 3.1, or validators that walk over tokens, get wrong.
func TestSchema_Validate_avoidsKnownPitfalls(t *testing.T) {
	t.Parallel()
	const user = `{"type": "object", "required": ["password"], "properties": {"password": {"type": "string", "minLength": 3}}}`
	for name, c := range map[string]struct {
		schema, more string // the schema S, and other schemas
		body, want   string
	}{
		"const is ignored":                       {`{"type": "string", "const": "a"}`, ``, `"b"`, " const"},
		"const lets an object through":           {`{"const": "a"}`, ``, `{"a": "a"}`, " const"},
		"const lets an array through":            {`{"const": 1}`, ``, `[1]`, " const"},
		"enum lets an object through":            {`{"enum": ["a", 1]}`, ``, `{}`, " enum"},
		"enum lets an array through":             {`{"enum": ["a", 1]}`, ``, `["a"]`, " enum"},
		"siblings of $ref are ignored":           {`{"$ref": "#/components/schemas/T", "maxLength": 1}`, `"T": {"type": "string"}`, `"ab"`, " maxLength"},
		"$ref beside siblings is ignored":        {`{"$ref": "#/components/schemas/T", "maxLength": 1}`, `"T": {"type": "string"}`, `1`, " type"},
		"a default changes what is required":     {`{"required": ["a"], "properties": {"a": {"default": 1}}}`, ``, `{}`, "/a required"},
		"the same behind $ref":                   {`{"required": ["a"], "properties": {"a": {"$ref": "#/components/schemas/T"}}}`, `"T": {"default": 1}`, `{}`, "/a required"},
		"the same near const":                    {`{"required": ["a"], "properties": {"a": {"default": 1}, "b": {"const": 1}}}`, ``, `{"b": 1}`, "/a required"},
		"huge numbers are rounded":               {`{"type": "number", "maximum": 1}`, ``, `1.00000000000000000000000001`, " maximum"},
		"huge numbers are rounded behind $ref":   {`{"items": {"$ref": "#/components/schemas/T"}}`, `"T": {"type": "number", "maximum": 1}`, `[1.00000000000000000000000001]`, "/0 maximum"},
		"huge numbers are rounded near const":    {`{"const": 9007199254740992, "maximum": 1e15}`, ``, `9007199254740993`, " const,  maximum"},
		"an integer overflows its Go type":       {`{"type": "integer"}`, ``, `9223372036854775808`, " format"},
		"uuid is not checked":                    {`{"type": "string", "format": "uuid"}`, ``, `"x"`, " format"},
		"email is not checked":                   {`{"type": "string", "format": "email"}`, ``, `"x"`, " format"},
		"uri is not checked":                     {`{"type": "string", "format": "uri"}`, ``, `"x"`, " format"},
		"30 February":                            {`{"type": "string", "format": "date-time"}`, ``, `"2026-02-30T00:00:00Z"`, " format"},
		"duplicate members":                      {user, ``, `{"password": "abc", "password": "abd"}`, "/password duplicate"},
		"duplicate members, escaped":             {user, ``, `{"password": "abc", "p\u0061ssword": "abd"}`, "/password duplicate"},
		"trailing garbage":                       {user, ``, `{"password": "abc"}}`, malformed},
		"a second value":                         {user, ``, `{"password": "abc"} {}`, malformed},
		"invalid UTF-8":                          {user, ``, "{\"password\": \"abc\xff\"}", malformed},
		"encoding/json binds another case":       {user, ``, `{"password": "abc", "PASSWORD": "x"}`, "/password case"},
		"nesting without end":                    {`{}`, ``, nested(100_000), tooDeep},
		"allOf stops at the first":               {`{"allOf": [{"minLength": 2}, {"pattern": "^b"}]}`, ``, `"a"`, " minLength,  pattern"},
		"allOf in allOf":                         {`{"allOf": [{"allOf": [{"type": "string"}]}]}`, ``, `1`, " type"},
		"additionalProperties does not see $ref": {`{"additionalProperties": false, "allOf": [{"$ref": "#/components/schemas/T"}]}`, `"T": {"properties": {"a": {}}}`, `{"a": 1}`, " additionalProperties"},
		"unevaluatedProperties is ignored":       {`{"unevaluatedProperties": false}`, ``, `{"a": 1}`, " unevaluatedProperties"},
		"if and then are ignored":                {`{"if": {"required": ["a"]}, "then": {"required": ["b"]}}`, ``, `{"a": 1}`, "/b required"},
		"dependentRequired is ignored":           {`{"dependentRequired": {"a": ["b"]}}`, ``, `{"a": 1}`, "/b dependentRequired"},
		"nullable is ignored":                    {`{"nullable": true}`, ``, ``, "start-up"},
		"a typing error is ignored":              {`{"maxLenght": 1}`, ``, ``, "start-up"},
		"a format that is not known is ignored":  {`{"type": "string", "format": "no-such"}`, ``, ``, "start-up"},
		"a mapping leads nowhere":                {`{"oneOf": [{"$ref": "#/components/schemas/T"}], "discriminator": {"propertyName": "k", "mapping": {"a": "U"}}}`, `"T": ` + tagged("t", ""), ``, "start-up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.more != "" {
				c.more = "," + c.more
			}
			v, err := validate.Load(document(t, `{"components": {"schemas": {"S": `+c.schema+c.more+`}}}`), validate.Config{})
			got := "start-up"
			if err == nil {
				s, _ := v.Schema("S")
				got = violations(failure(t, s.Validate([]byte(c.body))))
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Requests that other validators get wrong.
func TestOperation_Handler_avoidsKnownPitfalls(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", takesBody, anyObject, validate.Config{MaxBodyBytes: 100})
	for name, c := range map[string]struct {
		contentType, encoding, body string
		length                      int64
		status                      int
		read                        int64 // at most
	}{
		"charset latin1":                 {"application/json; charset=latin1", "", `{}`, 2, 415, 0},
		"no content type":                {"", "", `{}`, 2, 415, 0},
		"a compressed body":              {"application/json", "gzip", `{}`, 2, 415, 0},
		"null for an object":             {"application/json", "", `null`, 4, 400, 4},
		"too large is 400":               {"application/json", "", strings.Repeat(" ", 999), 999, 413, 0},
		"too large in chunks is let in":  {"application/json", "", strings.Repeat(" ", 999), -1, 413, 101},
		"too large is read to its end":   {"application/json", "", strings.Repeat(" ", 1<<20), -1, 413, 101},
		"a length that is not the truth": {"application/json", "", strings.Repeat(" ", 999), 7, 413, 101},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := &countingReader{Reader: strings.NewReader(c.body)}
			r := httptest.NewRequest("POST", "/p", io.NopCloser(reader))
			r.ContentLength = c.length
			r.Header.Set("Content-Type", c.contentType)
			r.Header.Set("Content-Encoding", c.encoding)
			if c.encoding == "" {
				r.Header.Del("Content-Encoding")
			}
			if got := serve(t, o, r); status(got.err) != c.status || reader.n > c.read {
				t.Errorf("got %v after %d bytes", got.err, reader.n)
			}
		})
	}
}

// An operation id that a path and a webhook share is rejected.
func TestLoad_rejectsADuplicateOperationID(t *testing.T) {
	t.Parallel()
	const op = `{"operationId": "same", "responses": {"200": {"description": "d"}}}`
	doc := document(t, `{"paths": {"/a": {"get": `+op+`}}, "webhooks": {"w": {"post": `+op+`}}}`)
	if _, err := validate.Load(doc, validate.Config{}); err == nil {
		t.Error("got no error")
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

// The document of the service avoids the same pitfalls.
func TestSpec_avoidsKnownPitfalls(t *testing.T) {
	t.Parallel()
	_, v := compileSpec(t)
	login, _ := v.Operation("POST", "/users/login")
	lipsync, _ := v.Operation("POST", "/v1/lipsync/create_lipsync")
	event, _ := v.Webhook("avatar_event")
	for _, c := range []struct {
		name string
		o    *validate.Operation
		body string
		want string
	}{
		{"null", login, `null`, " type"},
		{"nothing", login, `{}`, "/email required, /password required"},
		{"duplicate", login, `{"email": "a", "email": "b", "password": "c"}`, "/email duplicate"},
		{"other case", login, `{"email": "a", "password": "c", "PASSWORD": "d"}`, "/password case"},
		{"trailing data", login, `{"email": "a", "password": "c"}garbage`, malformed},
		{"invalid UTF-8", login, "{\"email\": \"\xff\", \"password\": \"c\"}", malformed},
		{"unknown member", login, `{"email": "a", "password": "c", "more": {"x": [1.0]}}`, "ok"},
		{"format beside null", lipsync, `{"video_url": "not a uri", "audio_url": null}`, "/video_url format"},
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
	for body, want := range map[string]string{
		`{"created_at": "2026-02-30T00:00:00Z"}`: "/created_at format",
		`{"user_id": "x", "thumbnails": null}`:   "/user_id format",
		`{"tags": {"colors": [1]}}`:              "/tags/colors/0 type",
		`{"available_credits": 1.0}`:             "/available_credits type",
		`{"available_credits": 1e19}`:            "/available_credits type",
		`{"status": 1}`:                          "/status type",
	} {
		if got := violations(failure(t, project.Validate([]byte(body)))); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
