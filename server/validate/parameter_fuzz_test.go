package validate_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// FuzzStyles checks that no parameter causes a panic, and that an accepted parameter is stored as JSON that
// matches the schema.
func FuzzStyles(f *testing.F) {
	const schema = `{"type": ["array", "object", "integer"], "items": {"type": ["integer", "string", "null"], "maxLength": 5},
		"properties": {"a": {"type": "boolean"}, "b": {"type": "array", "items": {"type": "number"}}}, "maxProperties": 4}`
	type target struct {
		styled
		operation *validate.Operation
	}
	var targets []target
	for _, s := range styles {
		targets = append(targets, target{s.styled, s.operation(f, "it", schema)})
	}
	s := compileSchemas(f, `{"S": `+schema+`}`)
	for _, text := range []string{
		"1", "a,1,b,2", "a=true", ".1.2", ".a=true.b=1", ";it=1;it=2", ";a=true;b=1", "it=1&it=2", "it=1%202", "it=1%7C2", "it[a]=true&it[b][0]=1",
		"it[b][]=1&it[b][]=x", "it[a][a][a]=1", "%", "%ff", ";", ",", "=", "it[", "it=null", "a=\xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, target := range targets {
			r := target.request("it", text)
			if r == nil {
				continue
			}
			if got := serve(t, target.operation, r); got.err != nil {
				continue
			}
			if left := r.PathValue(target.in + ":it"); !json.Valid([]byte(left)) || s.Validate([]byte(left)) != nil {
				t.Errorf("%s: %q is accepted as %q", target, text, left)
			}
		}
	})
}

// FuzzMultipart checks that no multipart body causes a panic, and that an accepted body is passed on with the
// same parts, so that it is accepted again.
func FuzzMultipart(f *testing.F) {
	o := operationOf(f, "POST", taking(partsContent), anyObject, validate.Config{})
	const contentType = "multipart/form-data; boundary=b"
	part := func(header, text string) string { return "--b\r\n" + header + "\r\n\r\n" + text + "\r\n" }
	const title, file = `Content-Disposition: form-data; name="title"`, `Content-Disposition: form-data; name="file"; filename="f"`
	for _, body := range []string{
		part(title, "Ada") + part(file, "x") + "--b--", part(file, "") + part(title, "Ada") + "--b--\r\nmore", "before\r\n" + part(title, "A"), "--b--", "",
		part(title+"\r\nContent-Transfer-Encoding: quoted-printable", "=41da") + part(file, "\r\n--c") + "--b--",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := func(body []byte) (passed []byte, parts string, err error) {
			r := httptest.NewRequest(http.MethodPost, "/p", bytes.NewReader(body))
			r.Header.Set("Content-Type", contentType)
			o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if passed, err = io.ReadAll(r.Body); err != nil {
					return
				}
				again := httptest.NewRequest(http.MethodPost, "/p", bytes.NewReader(passed))
				again.Header.Set("Content-Type", contentType)
				if parts, err = readParts(again); err != nil {
					t.Errorf("%q has become %q: %v", body, passed, err)
				}
			}), func(_ http.ResponseWriter, _ *http.Request, refused error) { err = refused }).ServeHTTP(httptest.NewRecorder(), r)
			return passed, parts, err
		}
		passed, parts, err := read(body)
		if err != nil {
			return
		}
		if again, same, err := read(passed); err != nil || !bytes.Equal(again, passed) || same != parts {
			t.Errorf("%q, read as %q, becomes %q, %v", passed, parts, again, err)
		}
	})
}

// FuzzQuery checks that no query causes a panic, and that an accepted parameter has the value that net/url
// reads.
func FuzzQuery(f *testing.F) {
	o := operationOf(f, "GET", `{"parameters": [{"name": "id", "in": "query", "required": true, "schema": {"type": "string"}}],
		"responses": {"200": {"description": "d"}}}`, anyObject, validate.Config{})
	for _, query := range []string{"", "id", "id=abc", "&&id=abc&", "id=%zz", "%zz=1&id=abc", "i%64=a%62+c", "id=a&%69d=b", "id=a;b", "a;id=1&id=abc", "id=a=b", "id=%ff"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest("GET", "/p", nil)
		r.URL.RawQuery = query
		accepted := serve(t, o, r).err == nil
		values := r.URL.Query()["id"]
		if accepted && (len(values) != 1 || values[0] == "") {
			t.Errorf("%q is accepted, and net/url reads %q", query, values)
		}
	})
}

// FuzzForm checks that no form causes a panic, and that the JSON of an accepted form matches the schema and
// has the fields that net/url reads.
func FuzzForm(f *testing.F) {
	const schema = `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
		"tags": {"type": "array", "items": {"type": "string"}}, "where": {"type": "object", "properties": {"zip": {"type": "integer"}}}}}`
	o := operationOf(f, "POST", taking(`"application/x-www-form-urlencoded": {"schema": `+schema+`}`), anyObject, validate.Config{})
	s := compileSchemas(f, `{"S": `+schema+`}`)
	for _, body := range []string{"name=a", "name=a&age=1", "name=a&tags=b&tags=c", "name=%20&tags[0]=b", "name=a&where[zip]=1", `name=a&where={"zip":1}`, "name=a;b", "&&=", "name=%ff"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "/p", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		o.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text := bytes.Clone(r.Body.(interface{ ValidJSON() []byte }).ValidJSON())
			if err := s.Validate(text); err != nil {
				t.Errorf("%q is accepted as %s: %v", body, text, err)
			}
			values, err := url.ParseQuery(body)
			var object struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(text, &object) != nil || err == nil && values.Get("name") != object.Name {
				t.Errorf("%q is read as %s, and net/url reads %q, %v", body, text, values, err)
			}
		}), func(http.ResponseWriter, *http.Request, error) {}).ServeHTTP(httptest.NewRecorder(), r)
	})
}
