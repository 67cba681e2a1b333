package validate_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

const anyResponse = `"responses": {"200": {"description": "d"}}`

// taking returns an operation whose request body has the given content.
func taking(content string) string {
	return `{"operationId": "take", "requestBody": {"required": true, "content": {` + content + `}}, ` + anyResponse + `}`
}

// posting serves an operation whose implementation reads its body with read. The returned function posts a body and
// returns the status, and the result of read or the violations. A body that is no buffer has no declared length.
func posting(
	tb testing.TB, o *validate.Operation, read func(*http.Request) (string, error),
) func(contentType string, body io.Reader) (int, string) {
	tb.Helper()
	fail := func(w http.ResponseWriter, _ *http.Request, err error) {
		invalid := failure(tb, err)
		w.WriteHeader(invalid.Status)
		_, _ = io.WriteString(w, violations(invalid))
	}
	handler := o.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := read(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		_, _ = io.WriteString(w, text)
	}), fail)
	return func(contentType string, body io.Reader) (int, string) {
		r, answer := httptest.NewRequest(http.MethodPost, "/p", body), httptest.NewRecorder()
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		handler.ServeHTTP(answer, r)
		return answer.Code, answer.Body.String()
	}
}

func readAll(r *http.Request) (string, error) {
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// If several media types match, the most specific one is used. No response contains the submitted media type.
func TestOperation_Handler_usesTheMostSpecificMediaType(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", taking(`
		"application/json": {"schema": {"type": "object"}},
		"application/merge-patch+json": {"schema": {"type": "array"}},
		"text/json": {"schema": {"type": "boolean"}},
		"text/json; charset=utf-8; v=2": {"schema": {"type": "integer"}},
		"text/plain": {"schema": {"type": "string", "minLength": 2, "pattern": "^a"}},
		"video/mp4": {"schema": {"type": "string", "format": "binary", "maxLength": 3}},
		"video/*": {"schema": {"maxLength": 5, "minLength": 1}},
		"application/octet-stream": {}`), anyObject, validate.Config{})
	post := posting(t, o, readAll)
	const accepted = "The body must be application/json, application/merge-patch+json, application/octet-stream, text/json; v=2, text/json, text/plain, video/mp4 or video/*."
	for _, c := range []struct {
		contentType, body string
		status            int
		want              string
	}{
		{"application/json", `[]`, 400, " type"},
		{"application/merge-patch+json", `[]`, 200, `[]`},
		{"application/merge-patch+json", `[] 1`, 400, malformed},
		{"application/other+json", `[]`, 415, accepted},
		{"text/json; v=1", `true`, 200, `true`},
		{"text/json; v=2", `true`, 400, " type"},
		{"text/json; charset=UTF-8; v=2; w=3", `2`, 200, `2`},
		{"text/json; charset=latin1", `true`, 415, accepted},
		{"text/plain", "abc", 200, "abc"},
		{"Text/Plain; charset=UTF-8", "aä", 200, "aä"},
		{"text/plain", "b", 400, " minLength,  pattern"},
		{"text/plain", "a\xff", 400, "The body is not valid UTF-8."},
		{"text/plain; charset=latin1", "abc", 415, accepted},
		{"video/mp4", "\xff\x00a", 200, "\xff\x00a"},
		{"video/mp4", "abcd", 400, " maxLength"},
		{"video/webm", "abcde", 200, "abcde"},
		{"video/webm", "abcdef", 400, " maxLength"},
		{"application/octet-stream", "\x00", 200, "\x00"},
		{"audio/wav", "a", 415, accepted},
		{"", "a", 415, accepted},
	} {
		for _, body := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body))} { // the second is chunked
			if status, got := post(c.contentType, body); status != c.status || got != c.want {
				t.Errorf("%s %q, %T: got %d %s, want %d %s", c.contentType, c.body, body, status, got, c.status, c.want)
			}
		}
	}
	for name, header := range map[string]http.Header{
		"ok":                                     {"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}},
		"The Content-Encoding must be identity.": {"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "gzip"}},
		"The Content-Encoding must be identity. ": {"Content-Type": {"application/json"}, "Content-Encoding": {"identity, gzip"}},
		accepted: {"Content-Type": {"application/json", "application/json"}},
	} {
		r := jsonRequest("POST", "/p", "{}")
		r.Header = header
		if err := serve(t, o, r).err; violations(err) != strings.TrimSpace(name) || err != nil && err.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%v: %v", header, err)
		}
	}
}

// A stream is passed on while it is being sent, and ends at the limit.
func TestOperation_Handler_streamsOpaqueBodies(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	o := operationOf(t, "POST", taking(`"application/octet-stream": {}`), anyObject,
		validate.Config{MaxBodyBytes: 10, OperationBodyBytes: map[string]int64{"take": limit}})
	half := make(chan struct{})
	post := posting(t, o, func(r *http.Request) (string, error) {
		if _, err := io.ReadFull(r.Body, make([]byte, 1000)); err != nil {
			return "", err
		}
		close(half) // before the rest is sent
		_, err := io.Copy(io.Discard, r.Body)
		return "read", err
	})
	sent, send := io.Pipe()
	go func() {
		_, _ = send.Write(make([]byte, 1000))
		<-half
		_, _ = send.Write(make([]byte, limit-1000))
		_ = send.Close()
	}()
	if status, got := post("application/octet-stream", sent); status != 200 || got != "read" {
		t.Errorf("got %d %s", status, got)
	}
	post = posting(t, o, readAll)
	for name, body := range map[string]io.Reader{
		"declared": bytes.NewReader(make([]byte, limit+1)),
		"chunked":  io.LimitReader(zeros{}, 100*limit),
	} {
		if status, got := post("application/octet-stream", body); status != 413 || got != "The body is larger than 65536 bytes." {
			t.Errorf("%s: got %d %s", name, status, got)
		}
	}
	if status, got := post("application/octet-stream", nil); status != 400 || got != " required" {
		t.Errorf("without a body: got %d %s", status, got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

const formContent = `"application/x-www-form-urlencoded": {
	"schema": {"type": "object", "required": ["name"], "minProperties": 2, "properties": {
		"name": {"type": "string", "minLength": 2}, "age": {"type": "integer"}, "on": {"type": ["boolean", "null"]},
		"tags": {"type": "array", "items": {"type": "string", "maxLength": 3}}, "ids": {"type": "array", "items": {"type": "integer"}},
		"where": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}},
		"rows": {"type": "array", "items": {"type": "object", "properties": {"city": {"type": "string"}}}},
		"deep": {"type": "object", "properties": {"a": {"type": "integer"}}}, "raw": {"type": "string"}, "list": {"type": "array", "items": {"type": "integer"}}},
		"additionalProperties": {"type": "integer"}},
	"encoding": {"ids": {"style": "form", "explode": false}, "raw": {"allowReserved": true}, "list": {"contentType": "application/json"},
		"deep": {"style": "deepObject", "explode": true}}}`

func TestOperation_Handler_checksForms(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", taking(formContent), anyObject, validate.Config{MaxBodyBytes: 300})
	post := posting(t, o, func(r *http.Request) (string, error) {
		err := r.ParseForm()
		return r.PostForm.Get("name"), err
	})
	for body, want := range map[string]string{
		"name=Ada&age=36":                       "Ada",
		"na%6De=A+d%C3%A4&on=null":              "A dä",
		"age=36":                                "/name required,  minProperties",
		"name=A&age=x&on=1":                     "/age type, /name minLength, /on type",
		"name=Ada&name=Eva":                     "/name repeated",
		"name=Ada&tags=a&tags=b":                "Ada",
		"name=Ada&tags=a&tags=abcd":             "/tags/1 maxLength",
		"name=Ada&tags[0]=a":                    "/* type",
		`name=Ada&rows={"city":"Rome"}&rows={}`: "Ada",
		`name=Ada&rows={"city":1}`:              "/rows/0/city type",
		`name=Ada&rows=[{"city":"Rome"}]`:       "/rows/0 type",
		"name=Ada&ids=1,2":                      "Ada",
		"name=Ada&ids=1,x":                      "/ids/1 type",
		`name=Ada&where={"zip":"x"}`:            "/where/zip type, /where/city required",
		`name=Ada&where={}&where={}`:            "/where repeated",
		"name=Ada&deep[a]=1":                    "Ada",
		"name=Ada&deep[a]=x":                    "/deep/a type",
		`name=Ada&where={`:                      "/where content",
		"name=Ada&list=[1,2]":                   "Ada",
		"name=Ada&list=[1,true]":                "/list/1 type",
		"name=Ada&list=1,2":                     "/list content",
		"name=Ada&more=x":                       "/* type",
		"name=Ada&more=1&more=2":                "/* type",
		"name=%zz&age=1":                        "/name escape",
		"name=%ff%ff&age=1":                     "/name type",
		"name=Ada&more=%zz":                     "/* escape",
		"name=Ada;Eva&age=1":                    "/name escape",
		"name=Ada&NAME=1":                       "/name case",
		"name=" + strings.Repeat("x", 300):      "The body is larger than 300 bytes.",
	} {
		if _, got := post("application/x-www-form-urlencoded", strings.NewReader(body)); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
}
