package validate_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

const canary = "cAnArY-7f3"

// mutations returns copies of value with the canary in each place: as a value, as an element of the wrong
// type, and as a name.
func mutations(value any) []any {
	results := []any{canary, []any{canary}, map[string]any{canary: canary}, map[string]any{canary: map[string]any{canary: []any{canary}}}}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			for _, mutated := range mutations(v[name]) {
				member := maps.Clone(v)
				member[name] = mutated
				results = append(results, member)
			}
			renamed := maps.Clone(v)
			renamed[canary] = renamed[name]
			delete(renamed, name)
			results = append(results, renamed)
		}
	case []any:
		for i := range v {
			for _, mutated := range mutations(v[i]) {
				elements := slices.Clone(v)
				elements[i] = mutated
				results = append(results, elements)
			}
		}
	}
	return results
}

// filled returns a value with all members that the document declares, so that new fields are included. Values
// that the document does not restrict are the canary.
func filled(s *openapi3.Schema, depth int) any {
	switch {
	case s.Const != nil:
		return s.Const
	case s.Enum != nil:
		return s.Enum[0]
	case s.Type.Includes("integer") || s.Type.Includes("number"):
		return 1
	case s.Type.Includes("boolean"):
		return true
	case s.Items != nil:
		return []any{filled(s.Items.Value, depth)}
	case s.Type.Includes("string"):
		return canary
	case depth == 0:
		return canary
	}
	members := object{canary: canary}
	for name, property := range s.Properties {
		members[name] = filled(property.Value, depth-1)
	}
	for _, also := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		if value, ok := filled(also.Value, depth).(object); ok {
			maps.Copy(members, value)
		}
	}
	return members
}

// canaries are the values of fields and headers, in addition to mutations.
var canaries = []string{canary, strings.Repeat(canary, 100), canary + "\xff", canary + "%zz", canary + ";", canary + "\x00"}

// checker counts the errors that it has checked.
type checker struct {
	*testing.T
	refused int
}

func (c *checker) check(place string, invalid *validate.Error) {
	c.Helper()
	if invalid == nil {
		return
	}
	c.refused++
	text := invalid.Error() + invalid.Detail
	for _, v := range invalid.Violations {
		text += v.Pointer + v.Keyword + v.Detail
	}
	if strings.Contains(strings.ToLower(text), strings.ToLower(canary)) {
		c.Errorf("%s: %s", place, text)
	}
}

// No text of an error contains a submitted value or name.
func TestHandler_echoesNoSubmittedValue(t *testing.T) {
	t.Parallel()
	for _, d := range allOperations(t) {
		t.Run(d.ID(), func(t *testing.T) {
			t.Parallel()
			c := &checker{T: t}
			bodies := d.requestBodies(t)
			if d.source.RequestBody != nil {
				filling := `{}` // for bodies that are not JSON
				if media := d.source.RequestBody.Value.Content["application/json"]; media != nil {
					filling = asJSON(filled(media.Schema.Value, 9))
				}
				bodies = append(bodies, filling)
			}
			for _, body := range bodies {
				c.request(d, body)
			}
			for name, answer := range d.source.Responses.Map() {
				status, err := strconv.Atoi(strings.Replace(name, "X", "0", 2))
				if err != nil {
					status = 500
				}
				c.response(d, status, answer.Value)
			}
			if c.refused < 50 {
				t.Errorf("only %d requests and responses have been refused", c.refused)
			}
		})
	}
}

func (c *checker) request(d described, body string) {
	if d.source.RequestBody != nil {
		for _, mutated := range canaryBodies(c, body) {
			c.check(d.ID(), serve(c, d.Operation, d.request(c, mutated)).err)
		}
	}
	for _, p := range d.source.Parameters {
		for _, text := range canaries {
			r := d.request(c, body)
			if p.Value.In == "query" {
				r.URL.RawQuery = p.Value.Name + "=" + text + "&" + canary + "=" + canary
			} else {
				r.Header[http.CanonicalHeaderKey(p.Value.Name)] = []string{text, text}[:1+len(text)%2]
			}
			c.check(d.ID()+" "+p.Value.Name, serve(c, d.Operation, r).err)
		}
	}
	for _, name := range []string{"Content-Type", "Content-Encoding", canary} {
		r := d.request(c, body)
		r.Header.Set(name, canary+"; charset="+canary)
		c.check(d.ID()+" "+name, serve(c, d.Operation, r).err)
	}
}

func (c *checker) response(d described, status int, declared *openapi3.Response) {
	place := d.ID() + " " + strconv.Itoa(status)
	c.check(place, failure(c, d.Response(status, http.Header{"Content-Type": {canary}}, []byte(canary))))
	for name := range declared.Headers {
		for _, text := range canaries {
			header := http.Header{http.CanonicalHeaderKey(name): {text}}
			body := ""
			for mediaType := range declared.Content {
				header.Set("Content-Type", mediaType)
				body = "{}"
			}
			c.check(place+" "+name, failure(c, d.Response(status, header, []byte(body))))
		}
	}
	for mediaType, media := range declared.Content {
		for _, mutated := range canaryBodies(c, asJSON(filled(media.Schema.Value, 9))) {
			c.check(place, failure(c, d.Response(status, http.Header{"Content-Type": {mediaType}}, []byte(mutated))))
		}
	}
}

// canaryBodies returns bodies that contain the canary. Some are not valid JSON.
func canaryBodies(tb testing.TB, body string) []string {
	tb.Helper()
	bodies := []string{
		`{"` + canary + `": 1, "` + canary + `": 2}`,
		`{"a": {"` + canary + `": 1, "` + canary + `": 2}}`,
		`{"` + canary,
		`{"` + canary + `": ` + canary + `}`,
		`{} ` + canary,
		"\"" + canary + "\xff\"",
		`{"` + canary + `": ` + nested(100) + `}`,
	}
	var value any
	if json.Unmarshal([]byte(body), &value) != nil {
		return bodies
	}
	for _, mutated := range mutations(value) {
		encoded, err := json.Marshal(mutated)
		if err != nil {
			tb.Fatal(err)
		}
		bodies = append(bodies, string(encoded))
	}
	return bodies
}
