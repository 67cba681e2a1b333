package validate_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const canary = "cAnArY-7f3"

// mutations returns value with the canary in every place: as value, as an element of the wrong
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

// No text tells what was submitted, as value or as name, wherever it was.
func TestCanary(t *testing.T) {
	t.Parallel()
	refused := 0
	check := func(place string, err error) {
		invalid := failure(t, err)
		if invalid == nil {
			return
		}
		refused++
		text := invalid.Error() + invalid.Detail
		for _, v := range invalid.Violations {
			text += v.Pointer + v.Keyword + v.Detail
		}
		if strings.Contains(strings.ToLower(text), strings.ToLower(canary)) {
			t.Errorf("%s: %s", place, text)
		}
	}
	for _, d := range allOperations(t) {
		for _, body := range d.requestBodies(t) {
			for _, mutated := range canaryBodies(t, body) {
				check(d.ID(), asError(serve(t, d.Operation, d.request(t, mutated)).err))
				for _, status := range []int{200, 400, 500} {
					for _, mediaType := range []string{"application/json", "application/problem+json", canary} {
						check(d.ID(), d.Response(status, http.Header{"Content-Type": {mediaType}}, []byte(mutated)))
					}
				}
			}
			for _, p := range d.source.Parameters {
				for _, text := range []string{strings.Repeat(canary, 100), canary + "\xff", canary + "%zz", canary + ";"} {
					r := d.request(t, body)
					if p.Value.In == "query" {
						r.URL.RawQuery = p.Value.Name + "=" + text + "&" + canary + "=" + canary
					} else {
						r.Header.Set(p.Value.Name, text)
					}
					check(d.ID(), asError(serve(t, d.Operation, r).err))
				}
			}
			for _, name := range []string{"Content-Type", "Content-Encoding"} {
				r := d.request(t, body)
				r.Header.Set(name, canary+"; charset="+canary)
				check(d.ID(), asError(serve(t, d.Operation, r).err))
			}
		}
	}
	if refused < 300 {
		t.Errorf("only %d requests and responses have been refused", refused)
	}
}

// canaryBodies returns bodies with the canary in them, some of which are no JSON.
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
