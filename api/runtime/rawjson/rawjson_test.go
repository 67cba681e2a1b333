package rawjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/rawjson"
)

// A string ends at the first quote that is not escaped, and is plain if encoding/json reads what stands between its
// quotes, whatever stands where in it.
func TestString_endsWhereEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	pieces := []string{"", "a", `\"`, `\\`, `\u00e9`, "é", "\U0001f600", "\xff", "\x01", "{", " "}
	for _, first := range pieces {
		for _, second := range pieces {
			for length := range 20 {
				content := strings.Repeat("x", length) + first + strings.Repeat("y", 19-length) + second
				text := "  \"" + content + "\" : \"" + second
				end, plain := rawjson.String([]byte(text), 2)
				if end != 2+len(content)+2 {
					t.Fatalf("%q: got the end %d", text, end)
				}
				var decoded string
				err := json.Unmarshal([]byte(text[2:end]), &decoded)
				if want := err == nil && decoded == content; plain != want {
					t.Errorf("%q: got plain %t, want %t", text, plain, want)
				}
				if end, _ := rawjson.String([]byte(`"`+content), 0); end != -1 {
					t.Errorf("%q without an end: got %d", content, end)
				}
			}
		}
	}
}

// The members of an object are those that encoding/json reads, however they are written.
func TestMember_readsWhatEncodingJSONReads(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, ` { "a" : -1.5e3 , "b" : null } `, `{"a":{"b":[1,{"c":"}"}]},"d":[]}`, `{"\u0061\"":"\"","é":"\\"}`,
		"{\n\t\"a\"\n:\ttrue\r}", `{"a":"x","a":"y"}`, `{"":""}`, `null`,
	} {
		want, got := map[string]any(nil), map[string]any{}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		rest, err := rawjson.Object([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for name, value, rest, ok := rawjson.Member(rest); ok; name, value, rest, ok = rawjson.Member(rest) {
			var decoded any
			if err := rawjson.Decode(string(name), value, &decoded); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			got[string(name)] = decoded
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{`[]`, `"{"`, `1`, ``, `tru`} {
		if _, err := rawjson.Object([]byte(text)); err == nil {
			t.Errorf("%s is an object", text)
		}
	}
	for _, text := range []string{`"`, `"a`, `"a"`, `"a":`, `"a":"`, `"a":{`, `"\u00":1`, `:`, `,`, `"a":}`} { // no panic
		rawjson.Member([]byte(text))
	}
}
