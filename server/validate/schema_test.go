package validate_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

func TestSchema_Validate_reportsViolations(t *testing.T) {
	t.Parallel()
	for _, group := range []struct {
		name, schema string
		cases        map[string]string // body to violations
	}{
		{"integer", `{"type": ["integer", "null"], "format": "int32"}`, map[string]string{
			`2147483647`: "ok", `null`: "ok", `2147483648`: " format", `-2147483649`: " format", `1.0`: " type", `1e3`: " type", `"1"`: " type",
		}},
		{"uint64", `{"type": "integer", "format": "uint64"}`, map[string]string{
			`18446744073709551615`: "ok", `18446744073709551616`: " format", `-1`: " format", `-0`: " format", strings.Repeat("9", 500): " format",
		}},
		{"number", `{"type": "number"}`, map[string]string{`16777217`: "ok", `1e300`: "ok", `1e400`: " format", `-1e400`: " format"}},
		{"float", `{"type": "number", "format": "float"}`, map[string]string{`1e38`: "ok", `1e39`: " format"}},
		{"an integer of any number", `{"type": ["integer", "number"], "format": "int32"}`, map[string]string{
			`1`: "ok", `1.5`: " type", `2147483648`: " format",
		}},
		{
			"required but not declared", `{"type": "object", "required": ["x/y~z"], "additionalProperties": false}`,
			map[string]string{`{}`: "/x~1y~0z required", `{"x/y~z": 1}`: " additionalProperties"},
		},
		// An error has 32 violations at most.
		{"required of many", `{"required": [` + names(130, func(name string) string { return `"` + name + `"` }) + `]}`, map[string]string{
			`{}`: names(32, func(name string) string { return "/" + name + " required" }),
			`{` + names(129, func(name string) string { return `"` + name + `": 1` }) + `}`: "/p129 required",
		}},
		{
			"additionalProperties schema", `{"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}`,
			map[string]string{`{"a": "x", "b": 1}`: "ok", `{"b": "x", "c": [1]}`: "/* type", `{"b": 1, "B": 2}`: "ok"},
		},
		{"const of a scalar", `{"const": 9007199254740992, "maximum": 1e15}`, map[string]string{
			`9007199254740993`: " const,  maximum", `[9007199254740992]`: " const", `{}`: " const",
		}},
		{"huge exponents", `{"minimum": -1, "maximum": 1}`, map[string]string{
			`1e99999999999999999999`: " maximum", `-1e99999999999999999999`: " minimum", `1e-99999999999999999999`: "ok",
			`0e99999999999999999999`: "ok",
		}},
		{
			"allOf", `{"type": "object", "properties": {"a": {"minLength": 2}},
			"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "string", "maxLength": 3}}, "allOf": [{"minProperties": 2}]}]}`,
			map[string]string{
				`{"a": "xx", "b": 1}`: "ok", `{"b": 1}`: "/a required,  minProperties", `{"a": "xxxx", "b": 1}`: "/a maxLength",
				`{"a": "x", "b": 1}`: "/a minLength", `{"a": 1, "b": 1}`: "/a type",
			},
		},
		{"allOf says a thing once", `{"allOf": [{"type": "string"}, {"type": "string"}]}`, map[string]string{`1`: " type"}},
		{"oneOf with null", `{"oneOf": [{"type": "object", "required": ["a"]}, {"type": "null"}]}`, map[string]string{
			`null`: "ok", `{"a": 1}`: "ok", `{}`: "/a required", `1`: " type", `[]`: " type",
		}},
		{"anyOf with null", `{"anyOf": [{"type": "null"}, {"type": ["integer", "null"], "minimum": 3}]}`, map[string]string{
			`null`: "ok", `3`: "ok", `2`: " minimum", `"x"`: " type", `3.5`: " type",
		}},
		{"anyOf with null and anything", `{"anyOf": [{"enum": ["a"]}, {"type": "null"}]}`, map[string]string{
			`null`: "ok", `"a"`: "ok", `1`: " enum",
		}},
		{
			"oneOf by const", `{"oneOf": [
			{"type": "object", "required": ["k", "a"], "properties": {"k": {"const": "A"}, "a": {"type": "string"}}},
			{"type": "null"},
			{"type": "object", "required": ["k"], "properties": {"k": {"const": "B"}, "b": {"type": "integer"}}}]}`,
			map[string]string{
				`{"a": "x", "k": "A"}`:               "ok",
				`{"a": [{"k": "B"}, "}"], "k": "A"}`: "/a type",
				` { "b" : 1 , "k" : "\u0042" } `:     "ok",
				`{"k": "B", "b": "x"}`:               "/b type",
				`{"k": "A", "b": "x"}`:               "/a required",
				`{"k": "C"}`:                         "/k oneOf",
				`{"k": 1}`:                           "/k oneOf",
				`{"k": {}}`:                          "/k oneOf",
				`{}`:                                 "/k required",
				`null`:                               "ok",
				`1`:                                  " type",
				`{"x": {"k": "A"}, "k": "B"}`:        "ok",
			},
		},
		// What the value itself must match is first, then each member, then what its members must be together.
		{
			"conditions", `{"type": "object", "required": ["z"], "properties": {"kind": {}, "a": {"type": "integer"}}, "not": {"required": ["bad"]},
			"if": {"properties": {"kind": {"const": "x"}}, "required": ["kind"]}, "then": {"required": ["b"], "properties": {"b": {"not": {"type": "null"}}}},
			"dependentRequired": {"a": ["c"]}, "dependentSchemas": {"a": {"required": ["d"]}}, "unevaluatedProperties": false}`,
			map[string]string{
				`{"a": "x", "new": 1, "b": null, "kind": "x", "bad": 1}`: " not, /a type,  unevaluatedProperties, /b not, /z required, /c dependentRequired, /d required",
				`{"kind": "x", "b": 1, "z": 1}`:                          " unevaluatedProperties",
				`{"b": 1, "b": null}`:                                    "/b duplicate",
				`{"a": "x", "kind": "x", "b": 1, "b": null}`:             "/a type, /b duplicate",
				`{"kind": "x", "b": null, "x": {"y": 1, "y": 2}}`:        "/* duplicate", // what is incomplete has no conditions
				`[]`: " type",
			},
		},
		// The names of schemas that do not apply are in pointers, but may be written in another case.
		{
			"names of alternatives", `{"anyOf": [{"required": ["x"], "properties": {"pin": {}}}, {"properties": {"a": {"properties": {"pin": {}}}}}],
			"additionalProperties": {"type": ["integer", "object"]}}`,
			map[string]string{
				`{"pin": null}`: "/pin type", `{"other": null}`: "/* type", `{"PIN": 1}`: "ok", `{"x": 1, "PIN": 1}`: "/pin case", `{"a": {"PIN": 1}}`: "/a/pin case",
			},
		},
		{"unevaluatedItems", `{"prefixItems": [true], "contains": {"type": "null"}, "unevaluatedItems": {"type": "integer"}, "maxItems": 4}`, map[string]string{
			`["a", null, 1]`: "ok", `[null, "a", null, true, 1]`: "/1 type, /3 type,  maxItems", `["a", "b"]`: "/1 type,  contains",
		}},
	} {
		checkBodies(t, compileSchemas(t, `{"S": `+group.schema+`}`), group.cases)
	}
}

func names(n int, format func(name string) string) string {
	var all []string
	for i := range n {
		all = append(all, format("p"+strconv.Itoa(i)))
	}
	return strings.Join(all, ", ")
}

// A discriminator does not change whether a value is valid. It selects the alternative whose violations are
// reported.
func TestSchema_Validate_usesTheDiscriminatorAsAHint(t *testing.T) {
	t.Parallel()
	s := compileSchemas(t, `{
		"S": {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
			"discriminator": {"propertyName": "pet", "mapping": {"meow": "#/components/schemas/Cat", "purr": "Cat"}}},
		"Cat": {"type": "object", "required": ["pet", "lives"], "properties": {"pet": {"type": "string"}, "lives": {"type": "integer"}}},
		"Dog": {"type": "object", "required": ["pet", "bark"], "properties": {"pet": {"type": "string"}, "bark": {"type": "string"}}}}`)
	checkBodies(t, s, map[string]string{
		`{"lives": 9, "pet": "meow"}`:             "ok",
		`{"lives": 9, "pet": "Dog"}`:              "ok",
		`{"pet": "purr"}`:                         "/lives required",
		`{"pet": "Cat"}`:                          "/lives required",
		`{"pet": "Dog", "bark": 1}`:               "/bark type",
		`{"pet": "Cat", "lives": 1, "bark": "x"}`: " oneOf",
		`{"pet": "bird"}`:                         " oneOf",
		`{}`:                                      " oneOf",
		`[]`:                                      " type",
	})
}

// Patterns have the meaning of ECMA-262, even where RE2 reads the same text differently.
func TestSchema_Validate_matchesPatternsOfECMA262(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ match, other []string }{
		`^.$`:                     {[]string{"a", "😀", "\v", "\u0085"}, []string{"\n", "\r", "\u2028", "\u2029", ""}},
		`a$`:                      {[]string{"a"}, []string{"a\n", "a\nb"}},
		`^b`:                      {[]string{"b"}, []string{"a\nb"}},
		`^\s$`:                    {[]string{" ", "\t", "\v", "\u00a0", "\ufeff", "\u2028", "\u3000"}, []string{"a", "\u0085", "\u200b"}},
		`^\S$`:                    {[]string{"a", "\u0085", "\u200b", "\U0010ffff", "\x00"}, []string{" ", "\v", "\u00a0", "\ufeff"}},
		`^[\s_]$`:                 {[]string{"_", "\u2003"}, []string{"a"}},
		`^[^\s_]$`:                {[]string{"a"}, []string{"_", "\u2003"}},
		`^[\S ]$`:                 {[]string{"a", " "}, []string{"\t", "\u00a0"}},
		`^[^\S ]$`:                {[]string{"\t", "\u00a0"}, []string{"a", " "}},
		`^[\s\S]$`:                {[]string{"a", "\n"}, []string{"", "aa"}},
		`^[-\d]$`:                 {[]string{"-", "7"}, []string{"a", "߀"}},
		`^[a\-z]$`:                {[]string{"a", "-", "z"}, []string{"b"}},
		`^[[:alpha:]]$`:           {[]string{"[]", "a]", ":]"}, []string{"x", "b]"}},
		`^[\]^]$`:                 {[]string{"]", "^"}, []string{"a"}},
		`^[\b]$`:                  {[]string{"\b"}, []string{"b"}},
		`\bé`:                     {[]string{"aé"}, []string{"é"}},
		`^\cJ\cj$`:                {[]string{"\n\n"}, []string{"J"}},
		`^\u0041\x42\u{1F600}\0$`: {[]string{"AB😀\x00"}, []string{"AB"}},
		`^\ud83d\ude00$`:          {[]string{"😀"}, []string{"a"}},
		`^\p{Lu}\P{L}$`:           {[]string{"Ä1"}, []string{"ä1", "Äa"}},
		`^\p{Script=Greek}$`:      {[]string{"π"}, []string{"p"}},
		`^(?:a|(?<name>b))\/\.$`:  {[]string{"a/.", "b/."}, []string{"a/x"}},
		`^a{2,3}?$`:               {[]string{"aa", "aaa"}, []string{"a"}},
	} {
		s := compileSchemas(t, `{"S": {"type": "string", "pattern": `+asJSON(pattern)+`}}`)
		for _, text := range c.match {
			checkBodies(t, s, map[string]string{asJSON(text): "ok"})
		}
		for _, text := range c.other {
			err := failure(t, s.Validate([]byte(asJSON(text))))
			if violations(err) != " pattern" || err.Violations[0].Detail != "must match "+pattern {
				t.Errorf("%s and %q: got %v", pattern, text, err)
			}
		}
	}
}

// Patterns that RE2 cannot express are rejected, but texts in the format regex may be such.
func TestLoad_rejectsUnsupportedPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		`(`, `a**`, `a{2000}`, `[b-a]`, `[a-\d]`, `[\s-z]`, `[\B]`,
		`(?=a)`, `(?!a)`, `(?<=a)`, `(?<!a)`, `(?i)a`, `(?i:a)`, `(?P<n>a)`, `(?#)`, `(a)\1`, `(?<n>a)\k<n>`,
		`\`, `\a`, `\A`, `\z`, `\Z`, `\Q.\E`, `\C`, `\pL`, `\p`, `\p{`, `\p{Greek}`, `\p{Script=greek}`, `\P{}`, `\07`, `\8`, `\_`, `\é`,
		`\c`, `\c1`, `\x4`, `\x{41}`, `\u004`, `\u{}`, `\u{110000}`, `\u{d800}`, `\u{41`, `\ud83d`, `\ud83dx`, `\ud83d\u0041`, `\ude00`, `\u+041`,
	} {
		_, err := validate.Load(document(t, `{"components": {"schemas": {"S": {"pattern": `+asJSON(pattern)+`}}}}`), validate.Config{})
		if err == nil || !strings.Contains(err.Error(), ": /components/schemas/S/pattern: ") {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
	checkBodies(t, compileSchemas(t, `{"S": {"format": "regex"}}`), map[string]string{
		`"a{2000}"`: "ok", `"\\p{sc=Greek}[\\P{Any}]"`: "ok", `"(a{2000}"`: " format", `"` + strings.Repeat("a", 10_001) + `"`: " format",
	})
}
