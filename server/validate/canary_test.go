package validate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

const canary = "cAnArY-7f3"

// canaryErrors counts the errors that it has checked.
type canaryErrors struct {
	*testing.T
	count int
}

func (c *canaryErrors) check(place string, err *validate.Error) {
	c.Helper()
	if err == nil {
		return
	}
	c.count++
	text := err.Error() + err.Detail
	for _, v := range err.Violations {
		text += v.Pointer + v.Keyword + v.Detail
	}
	if strings.Contains(strings.ToLower(text), strings.ToLower(canary)) {
		c.Errorf("%s: %s", place, text)
	}
}

// keywords is a schema with the keywords whose details could contain a value or a name.
const keywords = `{"additionalProperties": false, "properties": {"a": {"type": "integer"},
	"s": {"minLength": 99, "pattern": "^b", "format": "date", "enum": ["x"], "const": "y", "not": {"type": "string"}},
	"l": {"minItems": 9, "uniqueItems": true, "contains": {"type": "null"}, "unevaluatedItems": false},
	"u": {"oneOf": [{"type": "object", "required": ["k"], "properties": {"k": {"const": "a"}}}, {"type": "object", "required": ["k"], "properties": {"k": {"const": "b"}}}]},
	"o": {"propertyNames": {"maxLength": 1}, "patternProperties": {"7f3": false}, "unevaluatedProperties": false, "required": ["k"]}}}`

// No text of an error of a request or a response contains a part of it.
func TestOperation_echoesNoSubmittedValue(t *testing.T) {
	t.Parallel()
	const content = `"content": {` + formContent + `, ` + partsContent + `,
		"application/json": {"schema": {"$ref": "#/components/schemas/S"}}, "text/plain": {"schema": {"maxLength": 1}}}`
	get, _ := compile(t, takesEverything).Operation("GET", "/things/{thing_id}/parts/{part}")
	post := operationOf(t, "POST", `{"requestBody": {"required": true, `+content+`}, "responses": {"200": {"description": "d", `+content+`,
		"headers": {"X-A": {"schema": {"type": "integer"}}}}}}`, keywords, validate.Config{})
	bodies := map[string][]string{
		"application/json": {
			`{"$":1,"$":2}`, `{"a":{"$":1,"$":2}}`, `{"$`, `{"$":$}`, `{} $`, `{"a":"$"}`, `{"a":["$"]}`, `{"a":{"$":"$"}}`,
			`{"s":"$"}`, `{"l":["$","$"]}`, `{"u":{"k":"$"}}`, `{"o":{"$":"$"}}`,
		},
		"application/json; charset=$": {"{}"}, "application/$": {"$"}, "$": {"$"}, "text/plain": {"$"},
		"application/x-www-form-urlencoded": {"$", "$=$", "name=$", "name=a&age=$", "name=a&where[$]=1", "name=a&where={$", "name=a&list=[$]"},
		"multipart/form-data":               {"$"},
		"multipart/form-data; boundary=$":   {"--$\r\n$: $\r\n\r\n$\r\n--$"},
		"multipart/form-data; boundary=b": {
			"--b\r\n$\r\n\r\n$\r\n--b--",
			"--b\r\nContent-Disposition: form-data; name=\"$\"\r\n\r\n$\xff\r\n--b--",
			"--b\r\nContent-Disposition: form-data; name=age\r\n\r\n$\r\n--b--",
			"--b\r\nContent-Disposition: form-data; name=meta\r\n\r\n{\"$\":\"$\"}\r\n--b--",
			"--b\r\nContent-Disposition: form-data; name=photo; filename=\"$\"\r\nContent-Type: image/$\r\nX-Width: $\r\n\r\n$\r\n--b--",
		},
	}
	c := &canaryErrors{T: t}
	for _, text := range []string{canary, strings.Repeat(canary, 100), canary + "\xff", canary + "%zz", canary + ";", canary + "\x00"} {
		with := func(place string) string { return strings.ReplaceAll(place, "$", text) }
		for _, query := range []string{
			"$=$", "filter$=1", "filter[min]=$", "filter[$]=1", "filter[tags][$]=1", "limit=$", "json=$", `json={"$":1,"$":1}`, "note=$", "flag=$",
		} {
			r := httptest.NewRequest(http.MethodGet, "/things/a/parts/;part=1", nil)
			r.URL.RawQuery = with("flag&" + query)
			c.check(query, serve(t, get, r).err)
		}
		for _, path := range []string{"/things/$/parts/;part=1", "/things/a/parts/;part=$", "/things/a/parts/$"} {
			r := httptest.NewRequest(http.MethodGet, "/?flag", nil)
			r.URL.Path = with(path)
			c.check(path, serve(t, get, r).err)
		}
		for name, value := range map[string]string{"X-List": "1,$", "X-Point": "x=$", "X-Json": `{"$":1}`, "Cookie": "session=a$; ids=$; prefs=$; $=$"} {
			r := httptest.NewRequest(http.MethodGet, "/things/a/parts/;part=1?flag", nil)
			r.Header.Set(name, with(value))
			c.check(name, serve(t, get, r).err)
		}
		for media, all := range bodies {
			for _, body := range all {
				r := jsonRequest(http.MethodPost, "/p", with(body))
				r.Header.Set("Content-Type", with(media))
				r.Header.Set("X-A", text)
				c.check(media+" "+body, failure(t, post.Response(200, r.Header, []byte(with(body)))))
				c.check(media+" "+body, serve(t, post, r).err)
			}
		}
		r := jsonRequest(http.MethodPost, "/p", "{}")
		r.Header.Set("Content-Encoding", text)
		c.check("encoding", serve(t, post, r).err)
	}
	if c.count < 300 {
		t.Errorf("only %d requests and responses have been rejected", c.count)
	}
}
