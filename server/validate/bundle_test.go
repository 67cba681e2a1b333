package validate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// folder returns the files of a document by path.
func folder(files map[string]string) fs.FS {
	all := make(fstest.MapFS)
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// inFolder is the configuration for a document that is in the folder api with its files.
func inFolder(files fs.FS) validate.Config {
	return validate.Config{Name: "api/openapi.yaml", Files: files, Lenient: func(*validate.DocumentError) {}}
}

func bundle(tb testing.TB, text string, files fs.FS) *validate.Bundle {
	tb.Helper()
	b, err := validate.NewBundle([]byte(text), inFolder(files))
	harness.Check(tb, err)
	return b
}

func TestNewBundle_keepsTheTextOfOneFile(t *testing.T) {
	t.Parallel()
	b := bundle(t, string(api.Spec), nil)
	if string(b.Text) != string(api.Spec) {
		t.Error("the text changes")
	}
	if got := b.Locate(3, 7, "d").Error(); got != "api/openapi.yaml:3:7: d" {
		t.Errorf("got %s", got)
	}
	if again := bundle(t, string(b.JSON), nil); string(again.JSON) != string(b.JSON) {
		t.Error("the JSON is not that of the text")
	}
}

const split = head + `paths:
  /users/{id}: {$ref: 'users/users.yaml#/paths/~1users~1{id}'}
  /self:
    get:
      parameters: [{$ref: 'parts.yaml#/limit'}]
      responses: {default: {$ref: 'users/users.yaml#/components/responses/Failed'}}
      callbacks: {changed: {'{$request.query.limit}': {$ref: 'users/users.yaml#/paths/~1users~1{id}'}}}
webhooks:
  gone: {$ref: gone.yaml}
components:
  schemas:
    Person: {$ref: 'users/users.yaml#/components/schemas/User'}
    Local: {$ref: '#/components/schemas/Person', description: '%'}
    Again: {$ref: 'users/users.yaml#/components/schemas/User'}
`

func splitFiles() map[string]string {
	return map[string]string{
		"users/users.yaml": `paths:
  /users/{id}:
    parameters: [{$ref: ../parts.yaml#/id}]
    put:
      requestBody: {$ref: '#/components/requestBodies/Body'}
      responses: {200: {$ref: 'hop.yaml#/Done'}}
components:
  requestBodies:
    Body: {content: {application/json: {schema: {$ref: '#/components/schemas/User'}, examples: {ada: {$ref: '../parts.yaml#/ada'}}}}}
  responses:
    Failed: {description: d}
  schemas:
    User:
      properties:
        friend: {$ref: '#/components/schemas/User'}
        best: {$ref: '../openapi.yaml#/components/schemas/Person'}
        local: {$ref: ../openapi.yaml#/components/schemas/Local}
        kind: {enum: [yes, 'no', 0x10, '16', 1.50, null, '2026-01-02', "a\nb", '<<', '', ' # ', "\ttab\n", "\0"]}
        pet: {$ref: ../pet.json}
        name: {$ref: ../pet.json#name}
`,
		"users/hop.yaml": "Done: {$ref: '../parts.yaml#/Done'}",
		"parts.yaml": `id: {name: id, in: path, required: true, schema: {type: string}}
limit: {name: limit, in: query, schema: {$ref: '#/components/schemas/Limit'}}
Done: {description: d, headers: {X-A: {$ref: '#/a'}}}
a: {schema: {$ref: 'parts.yaml#/limit/schema'}}
ada: {value: {$ref: 1}}
components: {schemas: {Limit: {type: integer}, Unused: {type: integer}}}
`,
		"pet.json": `{"$id": "https://schemas.example/pet", "$schema": "https://json-schema.org/draft/2020-12/schema",
  "oneOf": [{"$ref": "#/$defs/Name"}], "discriminator": {"propertyName": "k", "mapping": {"a": "#/$defs/Name", "b": "Local"}},
  "$defs": {"Name": {"$anchor": "name", "type": "object", "required": ["k"], "properties": {"k": true}}}}`,
		"gone.yaml": "post: {responses: {2XX: {description: d}}}",
	}
}

// Each kind of value is taken from its file once, through two hops and in a circle.
func TestNewBundle_takesValuesFromFiles(t *testing.T) {
	t.Parallel()
	const want = head + `paths:
  /users/{id}:
    parameters: [{$ref: '#/components/parameters/id'}]
    put: {requestBody: {$ref: '#/components/requestBodies/Body'}, responses: {200: {$ref: '#/components/responses/Done'}}}
  /self:
    get:
      parameters: [{$ref: '#/components/parameters/limit'}]
      responses: {default: {$ref: '#/components/responses/Failed'}}
      callbacks: {changed: {'{$request.query.limit}': {$ref: '#/paths/~1users~1{id}'}}}
webhooks:
  gone: {post: {responses: {2XX: {description: d}}}}
components:
  schemas:
    Person:
      properties:
        friend: {$ref: '#/components/schemas/Person'}
        best: {$ref: '#/components/schemas/Person'}
        local: {$ref: '#/components/schemas/Local'}
        kind: {enum: ['yes', 'no', 16, '16', 1.50, null, '2026-01-02', "a\nb", '<<', '', ' # ', "\ttab\n", "\0"]}
        pet: {$ref: '#/components/schemas/pet'}
        name: {$ref: '#/components/schemas/Name'}
    Local: {$ref: '#/components/schemas/Person', description: '%'}
    Again: {$ref: '#/components/schemas/Person'}
    pet:
      oneOf: [{$ref: '#/components/schemas/Name'}]
      discriminator: {propertyName: k, mapping: {a: '#/components/schemas/Name', b: Local}}
    Name: {type: object, required: [k], properties: {k: true}}
    Limit: {type: integer}
  parameters:
    limit: {name: limit, in: query, schema: {$ref: '#/components/schemas/Limit'}}
    id: {name: id, in: path, required: true, schema: {type: string}}
  responses:
    Failed: {description: d}
    Done: {description: d, headers: {X-A: {$ref: '#/components/headers/a'}}}
  requestBodies:
    Body: {content: {application/json: {schema: {$ref: '#/components/schemas/Person'}, examples: {ada: {$ref: '#/components/examples/ada'}}}}}
  examples:
    ada: {value: {$ref: 1}}
  headers:
    a: {schema: {$ref: '#/components/schemas/Limit'}}
`
	b := bundle(t, split, folder(splitFiles()))
	if got, want := string(b.JSON), string(bundle(t, want, nil).JSON); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := bundle(t, string(b.Text), nil); string(again.JSON) != string(b.JSON) {
		t.Errorf("the YAML differs from the JSON:\n%s", b.Text)
	}
	lines := strings.Split(string(b.Text), "\n")
	for text, want := range map[string]string{
		"title:": "openapi.yaml:2:8: ", "put:": "users/users.yaml:4:5: ", "best:": "users/users.yaml:16:9: ", "k: true": "pet.json:3:93: ",
		"id:": "parts.yaml:1:1: ", "name: id": "parts.yaml:1:6: ", "Person:": "openapi.yaml:14:5: ", "Failed:": "users/users.yaml:11:5: ",
	} {
		for i, line := range lines {
			if before, rest, ok := strings.Cut(line, text); ok && rest == "" && strings.TrimLeft(before, " -") == "" {
				if got := b.Locate(i+1, len(before)+1, "").Error(); got != "api/"+want {
					t.Errorf("%s is from %s, want %s", text, got, want)
				}
			}
		}
	}
}

// The objects of OpenAPI 3.2 are taken from files too. The URI of the document does not change where the files are.
func TestNewBundle_takesValuesOfOpenAPI32(t *testing.T) {
	t.Parallel()
	document := func(content, components string) string {
		return "openapi: 3.2.0\n$self: https://studio.example/api/v2\ninfo: {title: t, version: '1'}\n" +
			"paths: {/a: {query: {responses: {200: {content: {application/jsonl: {$ref: '" + content + "'}}}}}}}\n" + components
	}
	files := folder(map[string]string{
		"parts.yaml": "lines: {x-itemSchema: {$ref: '#/Item'}}\n" +
			"Item: {type: object, properties: {k: {$ref: 'openapi.yaml#/x-key'}}, discriminator: {propertyName: k, defaultMapping: '#/Other'}, oneOf: [{$ref: '#/Other'}]}\n" +
			"Other: {type: object}\nkey: {type: http, scheme: bearer}\n",
		"openapi.yaml": document("parts.yaml#/lines", "x-key: {type: string}"),
	})
	b := bundle(t, document("parts.yaml#/lines", "x-key: {type: string}"), files)
	want := bundle(t, document("#/components/mediaTypes/lines", "x-key: {type: string}\ncomponents:\n  mediaTypes: {lines: {x-itemSchema: {$ref: '#/components/schemas/Item'}}}\n"+
		"  schemas:\n    Item: {type: object, properties: {k: {$ref: '#/x-key'}}, discriminator: {propertyName: k, defaultMapping: '#/components/schemas/Other'}, oneOf: [{$ref: '#/components/schemas/Other'}]}\n"+
		"    Other: {type: object}\n"), nil)
	if string(b.JSON) != string(want.JSON) {
		t.Errorf("got  %s\nwant %s", b.JSON, want.JSON)
	}
	_, err := validate.NewBundle([]byte(document("parts.yaml#/lines", "x-key: true\nsecurity: [{'parts.yaml#/key': []}]")), inFolder(files))
	if err == nil || !strings.Contains(err.Error(), "/security/0/parts.yaml#~1key: ") {
		t.Errorf("a security scheme in another file: %v", err)
	}
}

// A reference can only lead to a value in a file of the folder, and a component has one name.
func TestNewBundle_locatesErrors(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	check := func(err error) {
		harness.Check(t, err)
	}
	check(os.MkdirAll(filepath.Join(directory, "in"), 0o700))
	for name, text := range map[string]string{
		"out.yaml": "{}", "in/schema.yaml": "{}", "in/empty.yaml": "", "in/wrong.yaml": "a:\n  type: [no]", "in/up.yaml": "a: {$ref: ../out.yaml}",
		"in/deep.yaml": "a: " + strings.Repeat("{not: ", 197) + "{}" + strings.Repeat("}", 197), "in/number.yaml": "a: 1", "in/dynamic.yaml": "a: {$dynamicAnchor: b, items: {$dynamicRef: '#b'}}", "in/S.yaml": "not: {}",
		"in/loop.yaml": "a: {$ref: '#/b'}\nb: {$ref: '#/a'}", "in/two.yaml": "a: {b: {}, c: {b: {}}}\nd: {allOf: [{$ref: '#/a/b'}, {$ref: '#/a/c/b'}]}",
	} {
		check(os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600))
	}
	check(os.Symlink("../out.yaml", filepath.Join(directory, "in", "link.yaml")))
	root, err := os.OpenRoot(filepath.Join(directory, "in"))
	check(err)
	t.Cleanup(func() { check(root.Close()) })
	const leaves, leadsToURL, nowhere = "leaves the folder of the document", "leads to a URL, and not to a file in the folder of the document", "leads nowhere"
	for reference, want := range map[string]string{
		"schema.yaml":               "",
		"./schema.yaml#":            "",
		"../in/schema.yaml":         leaves,
		"../out.yaml":               leaves,
		"a/../../out.yaml":          leaves,
		"%2e%2e/out.yaml":           leaves,
		"/schema.yaml":              leaves,
		"//schema.yaml":             leadsToURL,
		"file:schema.yaml":          leadsToURL,
		"file:///schema.yaml":       leadsToURL,
		"https://a.example/s.yaml":  leadsToURL,
		"schema.yaml?a":             leadsToURL,
		"none.yaml":                 nowhere,
		"schema.yaml#/a":            nowhere,
		"link.yaml":                 "leads to a file that cannot be read: path escapes from parent",
		".":                         "leaves the folder of the document",
		"empty.yaml":                "api/empty.yaml:1:1: is empty",
		"wrong.yaml#/a":             "api/wrong.yaml:2:10: /a/type/0: must be array,",
		"up.yaml#/a":                "api/up.yaml:1:11: /a/$ref: leaves the folder of the document",
		"number.yaml#/a":            "api/number.yaml:1:4: /a: must be a schema: an object or a boolean",
		"dynamic.yaml#/a":           "api/dynamic.yaml:1:45: /a/items/$dynamicRef: is not possible in a document of several files",
		"loop.yaml#/a":              "contains itself",
		"S.yaml":                    "api/S.yaml:1:1: has the same name as api/openapi.yaml:5:5: refer to it from components with another name",
		"two.yaml#/d":               "api/two.yaml:1:19: /a/c/b: has the same name as api/two.yaml:1:5: refer to it from components with another name",
		"deep.yaml#/a":              "api/deep.yaml:1:1180: is nested too deep",
		"openapi.yaml#/info/title":  "must be a schema: an object or a boolean",
		"openapi.yaml#/components":  "",
		"openapi.yaml#/none":        nowhere,
		"http://[::1]:namedport/%%": nowhere,
	} {
		text := head + "components:\n  schemas:\n    S: {items: {$ref: '" + reference + "'}}"
		_, err := validate.NewBundle([]byte(text), inFolder(root.FS()))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("%s: got %v, want %s", reference, err, want)
		}
		if err != nil && len(places(t, err)) == 0 {
			t.Errorf("%s: %v has no place", reference, err)
		}
	}
}

// FuzzNewBundle checks that a bundle is a valid document of one file, wherever references lead.
func FuzzNewBundle(f *testing.F) {
	references := []string{
		"users/users.yaml#/components/schemas/User", "hop.yaml#/Done", "#/components/schemas/Limit", "pet.json", "../openapi.yaml#/components/schemas",
		"%2e%2e/parts.yaml#/a~1b", "#/components/schemas/Person/properties", "parts.yaml#/limit/schema", "../parts.yaml#/Done", "../pet.json#name",
		"pet.json#/properties/k", "../openapi.yaml#/components/schemas/Local", "openapi.yaml#/paths", "users/users.yaml", "", "/#",
	}
	for i, reference := range references {
		f.Add(reference, "hop.yaml#/Done", "#/components/schemas/Limit")
		f.Add("pet.json", reference, references[i*3%len(references)])
		f.Add("pet.json", "../parts.yaml#/Done", reference)
	}
	f.Fuzz(func(t *testing.T, first, second, third string) {
		quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
		files := splitFiles()
		files["users/users.yaml"] = strings.Replace(files["users/users.yaml"], "hop.yaml#/Done", quote(second)[1:len(quote(second))-1], 1)
		files["parts.yaml"] = strings.Replace(files["parts.yaml"], "'#/components/schemas/Limit'", quote(third), 1)
		b, err := validate.NewBundle([]byte(split+"    S: {not: {$ref: "+quote(first)+"}}"), inFolder(folder(files)))
		if err != nil {
			if len(places(t, err)) == 0 {
				t.Errorf("%v has no place", err)
			}
			return
		}
		if again := bundle(t, string(b.Text), nil); string(again.Text) != string(b.Text) || string(again.JSON) != string(b.JSON) {
			t.Errorf("the bundle changes:\n%s", b.Text)
		}
	})
}

// A link leads to an operation in another file by its id, because path items move.
func TestNewBundle_refusesLinksToOtherFiles(t *testing.T) {
	t.Parallel()
	const paths = "paths: {/a: {get: {responses: {200: {description: d, links: {l: "
	files := folder(map[string]string{"parts.yaml": "l: {operationRef: '#/o'}\nid: {operationId: i}\no: {responses: {200: {description: d}}}"})
	for link, want := range map[string]string{
		"{operationRef: 'parts.yaml#/o'}": "api/openapi.yaml:3:80: /paths/~1a/get/responses/200/links/l/operationRef: leads to another file",
		"{$ref: 'parts.yaml#/l'}":         "api/parts.yaml:1:19: /l/operationRef: leads to another file",
	} {
		text := head + paths + link + "}}}}}}\ncomponents: {links: {id: {$ref: 'parts.yaml#/id'}}}"
		if _, err := validate.NewBundle([]byte(text), inFolder(files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", link, err, want)
		}
	}
}

// The name of a security scheme in a bundle is that of a component.
func TestNewBundle_refusesSecuritySchemesInOtherFiles(t *testing.T) {
	t.Parallel()
	const text = head32 + "paths: {}\nsecurity: [{./schemes.yaml#/s: []}]\n"
	_, err := validate.NewBundle([]byte(text), validate.Config{Documents: map[string][]byte{"schemes.yaml": []byte("s: {type: mutualTLS}")}})
	if err == nil || !strings.Contains(err.Error(), "openapi.yaml:4:13: /security/0/.~1schemes.yaml#~1s: leads to another file") {
		t.Errorf("got %v", err)
	}
}
