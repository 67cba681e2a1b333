// Package smith writes documents at random, from the grammar of api/tools/generate and from outside of it, for tests.
package smith

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

type members = map[string]any

// Smith writes documents at random.
type Smith struct {
	*rand.Rand
	components, paths members
	refs              []string // the components that hold objects
	count             int
}

// New returns a smith, which writes the same document for the same seed.
func New(seed uint64) *Smith {
	return &Smith{Rand: rand.New(rand.NewPCG(seed, 45)), components: members{}, paths: members{}}
}

// Insert adds operations and schemas to a document in YAML.
func (s *Smith) Insert(document string, operations int) []byte {
	s.write(operations)
	document = strings.Replace(document, "openapi: 3.1.1\n", "openapi: 3.2.0\n", 1)
	document = strings.Replace(document, "\npaths:\n", "\npaths:\n"+lines("  ", s.paths), 1)
	return []byte(strings.Replace(document, "\n  schemas:\n", "\n  schemas:\n"+lines("    ", s.components), 1))
}

// write makes the operations and schemas, once.
func (s *Smith) write(operations int) {
	if len(s.paths) > 0 {
		return
	}
	for range 6 {
		s.component()
	}
	for range operations {
		s.operation()
	}
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

func (s *Smith) chance(percent int) bool { return s.IntN(100) < percent }

func pick[T any](s *Smith, of ...T) T { return of[s.IntN(len(of))] }

// name returns a name in any script that no other part of the document has, also in Go.
func (s *Smith) name() string {
	s.count++
	word := pick(s, "put", "名前", "größe", "данные", "type", "a b", "x-y", "a.b", "url", "naïve", "func", "日", "über-uns", "Ω", "ID", "x_y", "string", "err", "body", "ऄ", "שם")
	return word + fmt.Sprint(s.count)
}

func (s *Smith) component() string {
	s.count++
	name := pick(s, "Thing", "a-thing", "x.y", "thing_", "URL") + fmt.Sprint(s.count)
	s.components[name] = s.object(2)
	s.refs = append(s.refs, name)
	return name
}

func ref(name string) members { return members{"$ref": "#/components/schemas/" + name} }

// notNull returns a schema whose values are not null.
func (s *Smith) notNull() members {
	return pick(s, ref(s.anyRef()), s.object(2), members{"type": "array", "items": s.value(1)}, s.tagged(), s.scalar(), members{})
}

// scalar returns a schema of a string, integer, number, boolean or enum.
func (s *Smith) scalar() members {
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
func (s *Smith) value(depth int) members {
	if depth == 0 {
		return s.scalar()
	}
	schema := s.plain(depth)
	if s.chance(20) {
		return s.nullable(schema)
	}
	return schema
}

func (s *Smith) plain(depth int) members {
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

func (s *Smith) anyRef() string {
	if len(s.refs) == 0 {
		return s.leaf()
	}
	return pick(s, s.refs...)
}

// leaf makes a component without members that are objects.
func (s *Smith) leaf() string {
	s.count++
	name := "Leaf" + fmt.Sprint(s.count)
	s.components[name] = s.object(0)
	s.refs = append(s.refs, name)
	return name
}

// nullable allows null beside the values of a schema, in one of the ways of the specification.
func (s *Smith) nullable(schema members) members {
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

func (s *Smith) union(depth int) members {
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
func (s *Smith) tagged() members {
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

func (s *Smith) allOf(depth int) members {
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

func (s *Smith) object(depth int) members {
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
func (s *Smith) item() members {
	if s.chance(35) {
		return members{"type": "array", "items": s.scalar(), "maxItems": 3}
	}
	return s.scalar()
}

func (s *Smith) parameter(in string) members {
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

func (s *Smith) form() members {
	properties := members{}
	for range 1 + s.IntN(4) {
		properties[s.name()] = pick(s, s.scalar(), s.item(), s.object(1))
	}
	return members{"type": "object", "properties": properties}
}

func (s *Smith) requestBody() members {
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

func (s *Smith) response(status string, kind int) members {
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

func (s *Smith) operation() {
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
