package api_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

var (
	smithSeed   = flag.Uint64("smith.seed", 1, "seed of the first random document")
	smithRounds = flag.Uint64("smith.rounds", 1, "random documents to write")
)

// Values of a document that is written at random from the grammar of api/generate arrive unchanged, through the generated
// client, the server and back, if another validator calls them valid, and are refused with their place if it does not.
func TestSmith_valuesArriveOrAreRefused(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages")
	w := newWorkspace(t)
	name := filepath.Join(w.dir, "api", "openapi.yaml")
	document, err := os.ReadFile(name)
	w.check(err)
	for seed := *smithSeed; seed < *smithSeed+*smithRounds && !t.Failed(); seed++ {
		t.Logf("seed %d", seed)
		w.check(os.WriteFile(name, newSmith(seed).insert(string(document), 40), 0o600))
		if output, err := w.run("go", "run", "./api/generate", "api/openapi.yaml"); err != nil {
			t.Fatal(output)
		}
		w.check(os.WriteFile(filepath.Join(w.dir, "api/testdata/smith/registry_test.go"), w.registry(), 0o600))
		if output, err := w.run("go", "test", "-vet=off", "./api/testdata/smith", "-smith.seed", fmt.Sprint(seed)); err != nil {
			t.Error(output)
		}
	}
}

// registry returns a Go file that lists the operations of the smith with the types of their responses, which no
// reflection finds.
func (w workspace) registry() []byte {
	code, err := os.ReadFile(filepath.Join(w.dir, "gen", "api.gen.go"))
	w.check(err)
	var b strings.Builder
	b.WriteString("package smith\n\nimport (\n\t\"reflect\"\n\n\t\"github.com/avatarstudio/avatarstudio/client\"\n\t\"github.com/avatarstudio/avatarstudio/gen\"\n)\n\nfunc init() { operations = []operation{\n")
	visits := regexp.MustCompile(`(?m)^func \(response (\S+)\) Visit(\S+)Response\(`).FindAllStringSubmatch(string(code), -1)
	methods := regexp.MustCompile(`(?m)^\t// \((\w+) (/smith/\S+)\)\n(?:\t//.*\n)*\t(\S+)\(ctx`).FindAllStringSubmatch(string(code), -1)
	for _, m := range methods {
		fmt.Fprintf(&b, "{%q, %q, %q, reflect.TypeFor[gen.%sRequestObject](), []reflect.Type{", m[1], m[2], m[3], m[3])
		for _, visit := range visits {
			if visit[2] == m[3] {
				fmt.Fprintf(&b, "reflect.TypeFor[gen.%s](), ", visit[1])
			}
		}
		b.WriteString("}, []string{")
		for _, visit := range visits {
			if visit[2] == m[3] {
				fmt.Fprintf(&b, "%q, ", strings.TrimPrefix(visit[1], m[3]))
			}
		}
		b.WriteString("}},\n")
	}
	b.WriteString("}\n")
	for _, m := range regexp.MustCompile(`(?m)^type (\S+Response) (\p{Lu}[\pL\pN]*|json\.RawMessage|time\.Time|openapi_types\.Date)$`).FindAllStringSubmatch(string(code), -1) {
		base := fmt.Sprintf("reflect.TypeFor[gen.%s]()", m[2])
		if strings.Contains(m[2], ".") {
			base = fmt.Sprintf("foreign[%q]", m[2])
		}
		fmt.Fprintf(&b, "bases[reflect.TypeFor[gen.%s]()] = %s\n", m[1], base)
	}
	code, err = os.ReadFile(filepath.Join(w.dir, "client", "operations.gen.go"))
	w.check(err)
	for _, m := range regexp.MustCompile(`(?m)^type (\S+)Params struct`).FindAllStringSubmatch(string(code), -1) {
		fmt.Fprintf(&b, "optionTypes[%q] = reflect.TypeFor[client.%sParams]()\n", m[1], m[1])
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

type members = map[string]any

// smith writes documents at random.
type smith struct {
	*rand.Rand
	components, paths members
	refs              []string // the components that hold objects
	count             int
}

func newSmith(seed uint64) *smith {
	return &smith{Rand: rand.New(rand.NewPCG(seed, 45)), components: members{}, paths: members{}}
}

// insert adds operations to a document in YAML.
func (s *smith) insert(document string, operations int) []byte {
	for range 6 {
		s.component()
	}
	for range operations {
		s.operation()
	}
	document = strings.Replace(document, "openapi: 3.1.1\n", "openapi: 3.2.0\n", 1)
	document = strings.Replace(document, "\npaths:\n", "\npaths:\n"+lines("  ", s.paths), 1)
	return []byte(strings.Replace(document, "\n  schemas:\n", "\n  schemas:\n"+lines("    ", s.components), 1))
}

// lines writes the members of an object in YAML, one a line.
func lines(indent string, all members) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := json.Marshal(all[name])
		if err != nil {
			panic(err) // only encodable values are written
		}
		fmt.Fprintf(&b, "%s%q: %s\n", indent, name, text)
	}
	return b.String()
}

func (s *smith) chance(percent int) bool { return s.IntN(100) < percent }

func pick[T any](s *smith, of ...T) T { return of[s.IntN(len(of))] }

// name returns a name in any script that no other part of the document has, also in Go.
func (s *smith) name() string {
	s.count++
	word := pick(s, "put", "名前", "größe", "данные", "type", "a b", "x-y", "a.b", "url", "naïve", "func", "日", "über-uns", "Ω", "ID", "x_y", "string", "err", "body", "ऄ", "שם")
	return word + fmt.Sprint(s.count)
}

func (s *smith) component() string {
	s.count++
	name := pick(s, "Thing", "a-thing", "x.y", "thing_", "URL") + fmt.Sprint(s.count)
	s.components[name] = s.object(2)
	s.refs = append(s.refs, name)
	return name
}

func ref(name string) members { return members{"$ref": "#/components/schemas/" + name} }

// notNull returns a schema whose values are not null.
func (s *smith) notNull() members {
	return pick(s, ref(s.anyRef()), s.object(2), members{"type": "array", "items": s.value(1)}, s.tagged(), s.scalar(), members{})
}

// scalar returns a schema of a string, integer, number, boolean or enum.
func (s *smith) scalar() members {
	switch s.IntN(12) {
	case 0, 1:
		return members{"type": "string", "maxLength": 4 + s.IntN(8)}
	case 2:
		return members{"type": "string", "format": pick(s, "date-time", "date", "uuid", "byte", "email", "duration", "uri")}
	case 3:
		return members{"type": "string", "enum": []any{"a", "b c", "ü", "x-y"}[:2+s.IntN(3)]}
	case 4:
		return members{"enum": []any{"small", "large"}}
	case 5:
		return members{"type": "integer", "enum": []any{1, 2, 17}}
	case 6:
		return members{"type": "integer", "format": pick(s, "int32", "int64", "uint8", "uint64"), "minimum": 0}
	case 7:
		return members{"type": "integer", "minimum": -3, "maximum": 100}
	case 8:
		return members{"type": "number", "maximum": 1000.5}
	case 9:
		return members{"type": "number", "format": pick(s, "double", "float")}
	case 10:
		return members{"type": "boolean"}
	}
	return members{"type": "string"}
}

// value returns any schema.
func (s *smith) value(depth int) members {
	if depth == 0 {
		return s.scalar()
	}
	schema := s.plain(depth)
	if s.chance(20) {
		return s.nullable(schema)
	}
	return schema
}

func (s *smith) plain(depth int) members {
	switch s.IntN(11) {
	case 0, 1:
		return s.scalar()
	case 2, 3:
		return members{"type": "array", "items": s.value(depth - 1), "maxItems": 4}
	case 4:
		return members{"type": "object", "additionalProperties": s.value(depth - 1)}
	case 5:
		return ref(s.anyRef())
	case 6:
		return s.union(depth)
	case 7:
		return s.allOf(depth)
	case 8:
		return pick(s, members{}, members{"type": "object"}, members{"type": "array"}, members{"type": []any{"string", "integer"}}, members{"const": "c"}, members{"type": "null"})
	}
	return s.object(depth)
}

func (s *smith) anyRef() string {
	if len(s.refs) == 0 {
		return s.leaf()
	}
	return pick(s, s.refs...)
}

// leaf makes a component without members that are objects.
func (s *smith) leaf() string {
	s.count++
	name := "Leaf" + fmt.Sprint(s.count)
	s.components[name] = s.object(0)
	s.refs = append(s.refs, name)
	return name
}

// nullable allows null beside the values of a schema, in one of the ways of the specification.
func (s *smith) nullable(schema members) members {
	if kind, ok := schema["type"].(string); ok && kind != "null" && s.chance(60) {
		schema["type"] = []any{kind, "null"}
		if values, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(slices.Clone(values), nil)
		}
		return schema
	}
	if len(schema) == 0 || schema["type"] == "null" {
		return schema
	}
	return members{pick(s, "oneOf", "anyOf"): []any{schema, members{"type": "null"}}}
}

func (s *smith) union(depth int) members {
	switch s.IntN(4) {
	case 0:
		return members{"oneOf": []any{members{"type": "string"}, members{"type": "integer"}}}
	case 1:
		return members{"anyOf": []any{ref(s.anyRef()), members{"type": "boolean"}, members{"type": "array", "items": s.value(depth - 1)}}}
	case 2:
		return s.tagged()
	}
	return members{"oneOf": []any{members{"type": "integer"}, s.object(depth - 1)}}
}

// tagged returns a union whose alternatives a discriminator tells apart.
func (s *smith) tagged() members {
	var all []any
	mapping := members{}
	for range 2 {
		name := s.leaf()
		properties, _ := s.components[name].(members)["properties"].(members)
		properties["kind"] = members{"type": "string", "const": name}
		s.components[name].(members)["required"] = []any{"kind"}
		all, mapping[name] = append(all, ref(name)), ref(name)["$ref"]
	}
	return members{"oneOf": all, "discriminator": members{"propertyName": "kind", "mapping": mapping}}
}

func (s *smith) allOf(depth int) members {
	own := s.object(depth - 1)
	if s.chance(30) { // says again what another part says
		for name := range own["properties"].(members) {
			return members{"allOf": []any{own, members{"properties": members{name: members{"description": "better"}}}}}
		}
	}
	if s.chance(30) {
		var names []any
		for _, name := range slices.Sorted(maps.Keys(own["properties"].(members))) {
			names = append(names, name)
		}
		return members{"allOf": []any{own, members{"required": names}}}
	}
	leaf := s.leaf()
	delete(s.components[leaf].(members), "additionalProperties")
	return members{"type": "object", "allOf": []any{ref(leaf), own}}
}

func (s *smith) object(depth int) members {
	properties := members{}
	required := []any{}
	for range 1 + s.IntN(4) {
		name := s.name()
		schema := s.value(max(depth-1, 0))
		if depth > 0 && s.chance(8) {
			name, schema = "ro"+fmt.Sprint(s.count), members{"type": "integer", "readOnly": true}
		} else if depth > 0 && s.chance(8) {
			name, schema = "wo"+fmt.Sprint(s.count), members{"type": "string", "writeOnly": true}
		}
		properties[name] = schema
		if s.chance(40) {
			required = append(required, name)
		}
	}
	schema := members{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	switch s.IntN(8) {
	case 0:
		schema["additionalProperties"] = false
	case 1:
		schema["additionalProperties"] = s.value(max(depth-1, 0))
	case 2:
		schema["additionalProperties"] = true
	}
	return schema
}

// item returns the schema of a parameter or header: a scalar or a list.
func (s *smith) item() members {
	if s.chance(35) {
		return members{"type": "array", "items": s.scalar(), "maxItems": 3}
	}
	return s.scalar()
}

func (s *smith) parameter(in string) members {
	name := s.name()
	if in == "header" || in == "cookie" {
		name = fmt.Sprintf("X-Smith-%d", s.count)
	}
	p := members{"name": name, "in": in, "required": in == "path" || s.chance(40)}
	switch {
	case s.chance(12):
		p["content"] = members{"application/json": members{"schema": s.notNull()}}
		return p
	case in == "query" && s.chance(15):
		p["style"], p["schema"] = "deepObject", s.object(0)
		return p
	case s.chance(30):
		p["explode"] = s.chance(50)
	}
	if p["schema"] = s.item(); in == "path" {
		p["schema"] = s.scalar()
	}
	return p
}

func (s *smith) form() members {
	properties := members{}
	for range 1 + s.IntN(4) {
		properties[s.name()] = pick(s, s.scalar(), s.item(), s.object(1))
	}
	return members{"type": "object", "properties": properties}
}

func (s *smith) requestBody() members {
	content := members{}
	switch s.IntN(12) {
	case 0:
		content["text/plain"] = members{"schema": s.scalar()}
	case 1:
		content["application/x-www-form-urlencoded"] = members{"schema": s.form()}
	case 2:
		content["application/octet-stream"] = members{"schema": members{"type": "string", "format": "binary"}}
	case 3:
		content[pick(s, "application/json", "text/plain", "video/mp4")] = members{}
	case 4:
		content["application/merge-patch+json"] = members{"schema": s.value(3)}
	case 5:
		return members{"content": members{"application/json": members{"schema": s.notNull()}}}
	default:
		content["application/json"] = members{"schema": s.value(3)}
	}
	return members{"content": content, "required": true}
}

func (s *smith) response(status string, kind int) members {
	response := members{"description": "d"}
	if status == "303" {
		response["headers"] = members{"Location": members{"required": true, "schema": members{"type": "string"}}}
		return response
	}
	if s.chance(25) {
		headers := members{}
		for range 1 + s.IntN(3) {
			s.count++
			headers[fmt.Sprintf("X-Smith-%d", s.count)] = members{"required": s.chance(30), "schema": s.item()}
		}
		response["headers"] = headers
	}
	content := members{}
	switch kind {
	case 0:
		return response
	case 1:
		content["text/plain"] = members{"schema": s.scalar()}
	case 2:
		content["application/octet-stream"] = members{"schema": members{"type": "string", "format": "binary"}}
	case 3:
		content["application/json"] = members{}
	case 12, 13:
		content[[]string{"text/plain", "video/mp4"}[kind-12]] = members{}
	case 4:
		content["application/jsonl"] = members{"itemSchema": s.object(2)}
	case 5:
		content["text/event-stream"] = members{"itemSchema": members{"type": "object", "required": []any{"data"}, "properties": members{
			"data": members{"type": "string", "contentMediaType": "application/json", "contentSchema": s.object(1)},
		}}}
	case 6:
		content["application/vnd.smith+json"] = members{"schema": s.value(2)}
	default:
		content["application/json"] = members{"schema": s.value(3)}
	}
	response["content"] = content
	return response
}

func (s *smith) operation() {
	method := pick(s, "get", "put", "post", "patch", "delete", "head")
	path := fmt.Sprintf("/smith/%d", len(s.paths))
	o := members{"operationId": s.name(), "security": []any{}}
	parameters := []any{}
	for _, in := range []string{"path", "query", "header", "cookie"} {
		for range s.IntN(3) {
			p := s.parameter(in)
			if parameters = append(parameters, p); in == "path" {
				path += fmt.Sprintf("/{%s}", p["name"])
			}
		}
	}
	if s.chance(40) {
		o["parameters"] = parameters
	} else {
		path = fmt.Sprintf("/smith/%d", len(s.paths))
	}
	if (method == "put" || method == "post" || method == "patch") && s.chance(90) {
		o["requestBody"] = s.requestBody()
	}
	responses := members{}
	kind := s.IntN(14)
	statuses := pick(s, []string{"200"}, []string{"200"}, []string{"200", "default"}, []string{"201", "404"}, []string{"2XX"}, []string{"303"}, []string{"200", "202"}, []string{"default"})
	if kind == 4 || kind == 5 { // streams
		statuses = statuses[:1]
	}
	for _, status := range statuses {
		responses[status] = s.response(status, kind)
	}
	responses["400"], responses["500"] = members{"$ref": "#/components/responses/BadRequest"}, members{"$ref": "#/components/responses/InternalServerError"}
	o["responses"] = responses
	s.paths[path] = members{method: o}
}
