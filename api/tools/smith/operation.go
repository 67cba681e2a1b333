package smith

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// usedByGo are words that are special in Go, and names of packages and variables in the generated code.
//
//nolint:gochecknoglobals // never changed
var usedByGo = strings.Fields(`any append bool break bytes byte c call cap case chan clear client close const context copy ctx
	decode decodeNone decodeText default defer else encode encoding err error errors false fallthrough float64 fmt for found func gen go goto
	h handler http if import int interface io iota iter json len log make map max mime min missing multipart new nil operation options optional
	panic parameter params parts query r range read readParameter recover reflect request response result return rune runtime select server
	siw slices status stop stream string strings struct studio style switch sync text time true type uint8 url value var w`)

func list(items members) members { return members{"type": "array", "items": items, "maxItems": 3} }

// parameter returns a parameter. Names that Go code could use for itself stand without a number, once in an operation.
func (s *Smith) parameter(in string, taken map[string]bool) members {
	name := s.name()
	if plain := usedByGo[s.deal("plain", len(usedByGo))]; s.chance(60) && !taken[plain] {
		s.use("names that Go code uses")
		name, taken[plain] = plain, true
	}
	if in == "header" || in == "cookie" {
		name = s.token()
	}
	p := members{"name": name, "in": in, "required": in == "path" || s.chance(40)}
	switch {
	case s.chance(20):
		s.use(in + " json")
		p["content"] = members{"application/json": members{"schema": s.notNull()}}
	case in == "query" && s.chance(25):
		s.use("query deepObject")
		schema := s.object(0)
		if schema["additionalProperties"] == true { // its texts have no type
			delete(schema, "additionalProperties")
		}
		p["style"], p["schema"] = "deepObject", schema
	case s.chance(40):
		p["schema"] = list(s.scalar())
		exploded := in == "query" || in == "cookie"
		if s.chance(60) {
			exploded = s.chance(50)
			p["explode"] = exploded
		}
		if exploded = exploded && (in == "query" || in == "cookie"); exploded {
			s.use(in + " list exploded")
		} else {
			s.use(in + " list")
		}
	default:
		s.use(in + " scalar")
		p["schema"] = s.scalar()
	}
	return p
}

// form returns the description of a form, which is urlencoded or multipart.
func (s *Smith) form(name string) members {
	properties, encoding, required := members{}, members{}, []any{}
	for range 2 + s.IntN(5) {
		field := s.name()
		if s.chance(20) {
			required = append(required, field)
		}
		switch kind := s.deal(name, 7); {
		case kind == 0:
			properties[field] = s.as(name+" list", list(s.field(name)))
		case kind == 1:
			properties[field] = s.as(name+" JSON", s.object(1))
			if s.chance(50) {
				encoding[field] = members{"contentType": "application/json"}
			}
		case kind == 2:
			properties[field] = s.as(name+" list of JSON", list(s.object(1)))
		case kind == 3 && name == "urlencoded":
			properties[field], encoding[field] = s.as("urlencoded list with commas", list(s.scalar())), members{"explode": false}
		case kind == 3:
			properties[field] = s.as("multipart file", binary)
			if s.chance(50) {
				encoding[field] = members{"contentType": pick(s, "image/png", "image/png, image/jpeg", "image/*")}
			}
		case kind == 4 && name == "multipart":
			properties[field] = s.as("multipart files", members{"type": "array", "items": binary})
		default:
			properties[field] = s.as(name, s.field(name))
		}
	}
	described := members{"schema": members{"type": "object", "properties": properties, "required": required}}
	if len(encoding) > 0 {
		described["encoding"] = encoding
	}
	return described
}

// field returns the schema of a scalar field. A part of a multipart body without a type is not looked into.
func (s *Smith) field(form string) members {
	schema := s.scalar()
	if schema["enum"] != nil && schema["type"] == nil && form == "multipart" {
		schema["type"] = "string"
	}
	return schema
}

var binary = members{"type": "string", "format": "binary"} //nolint:gochecknoglobals // never changed

// in describes a value in one of the media types.
func (s *Smith) in(schema members, media ...string) members {
	return members{pick(s, media...): members{"schema": schema}}
}

func (s *Smith) requestBody() members {
	const mediaJSON = "application/json"
	body := members{"required": true}
	var content members
	switch s.deal("bodies", 20) {
	case 0:
		content = s.as("body in text", s.in(s.scalar(), "text/plain"))
	case 1, 2:
		content = members{"application/x-www-form-urlencoded": s.form("urlencoded")}
	case 3, 4, 5:
		content = members{"multipart/form-data": s.form("multipart")}
	case 6:
		content = s.as("body in bytes", s.in(binary, "application/octet-stream", "image/png"))
	case 7:
		content = s.as("body in a range", s.in(binary, "video/*", "*/*", "image/*"))
	case 8, 15:
		content = s.as("body without a schema", members{pick(s, mediaJSON, "text/plain", "video/mp4"): members{}})
	case 9:
		content = s.as("body in another JSON", s.in(s.value(3), "application/merge-patch+json", "application/vnd.smith+json"))
	case 10:
		content = s.as("body in versions of JSON", s.in(s.value(2), "application/json; version=1"))
		maps.Copy(content, s.in(s.value(2), "application/json; version=2"))
	case 11:
		content = s.as("optional body", s.in(s.notNull(), mediaJSON))
		body["required"] = false
	case 12, 13:
		content = s.as("body in several types", s.in(s.notNull(), mediaJSON))
		maps.Copy(content, s.in(s.scalar(), "text/plain"))
		maps.Copy(content, s.in(binary, "video/*", "video/mp4"))
	case 14:
		content = s.as("body in JSON that may be null", s.in(s.nullable(s.object(2)), mediaJSON))
	case 16:
		maybe, free := s.name(), s.name()
		own := members{maybe: members{"type": []any{"array", "null"}}, free: members{}}
		requires := func(name string) members { return members{"type": "object", "required": []any{name}} }
		schema := members{"type": "object", "properties": own, "anyOf": []any{requires(maybe), requires(free)}}
		content = s.as("body with a union beside members", s.in(schema, mediaJSON))
	default:
		content = s.as("body in JSON", s.in(s.value(3), mediaJSON))
	}
	for media := range content {
		if len(content) == 1 && !strings.HasSuffix(media, "json") && s.count%2 == 0 { // JSON that may be null cannot be optional
			s.use("optional body")
			body["required"] = false
		}
	}
	body["content"] = content
	return s.maybeComponent("requestBodies", body)
}

// Kinds of responses: all successes of an operation have the same.
const (
	nothing = iota
	text
	bytes
	lines
	events
	beside
	several
	redirect
	inJSON
	kinds = inJSON + 10
)

// maybeSchema describes a media type, with a schema or without.
func (s *Smith) maybeSchema(schema func() members) members {
	if s.chance(70) {
		return members{"schema": schema()}
	}
	return s.as("response without a schema", members{})
}

func (s *Smith) response(kind int) members {
	response := members{"description": "d"}
	if s.chance(30) {
		headers := members{}
		for range 1 + s.IntN(3) {
			schema := s.scalar()
			if s.use("header of a response"); s.chance(40) {
				s.use("list in a header of a response")
				schema = list(s.scalar())
			}
			headers[s.token()] = s.maybeComponent("headers", members{"required": s.chance(30), "schema": schema})
		}
		response["headers"] = headers
	}
	if kind == redirect {
		s.use("redirect")
		within(response, "headers")["Location"] = members{"required": true, "schema": members{"type": "string"}}
	}
	if content := s.content(kind); len(content) > 0 {
		response["content"] = content
	}
	return s.maybeComponent("responses", response)
}

func (s *Smith) content(kind int) members {
	switch kind {
	case nothing, redirect:
		return s.as("response without content", nil)
	case text:
		return s.as("response in text", members{"text/plain": s.maybeSchema(s.scalar)})
	case bytes:
		if s.chance(40) {
			return s.as("response in a range", s.in(binary, "video/*", "*/*"))
		}
		return s.as("response in bytes", members{pick(s, "application/octet-stream", "image/png"): s.maybeSchema(func() members { return binary })})
	case lines:
		item := members{"itemSchema": s.objectOrReference()}
		if s.deal("lines", 2) == 0 {
			return s.as("NDJSON", members{"application/x-ndjson": item})
		}
		return s.as("JSON lines", members{"application/jsonl": item})
	case events:
		return members{"text/event-stream": members{"itemSchema": s.eventStream()}}
	case beside:
		item := s.reference()
		content := s.in(members{"type": "array", "items": item}, "application/json")
		content["application/jsonl"] = members{"itemSchema": item}
		return s.as("stream beside JSON", content)
	case several:
		content := s.in(s.value(2), "application/json")
		maps.Copy(content, s.in(s.value(2), "application/vnd.smith+json"))
		return s.as("response in several types", content)
	case inJSON:
		return s.as("response without a schema", members{"application/json": members{}})
	case inJSON + 1, inJSON + 2:
		return s.as("response in another JSON", s.in(s.value(2), "application/vnd.smith+json", "application/hal+json"))
	}
	return s.as("response in JSON", s.in(s.value(3), "application/json"))
}

// eventStream returns the schema of server-sent events.
func (s *Smith) eventStream() members {
	data := func() members {
		return members{"type": "string", "contentMediaType": "application/json", "contentSchema": s.objectOrReference()}
	}
	switch s.deal("events", 3) {
	case 0:
		return s.as("server-sent events", members{"required": []any{"data"}, "properties": members{"data": data()}})
	case 1:
		return s.as("server-sent events in JSON or text", members{"required": []any{"data"}, "oneOf": []any{
			members{"properties": members{"data": data()}}, members{"properties": members{"data": members{"const": "[DONE]"}}},
		}})
	}
	var all []any
	for range 2 + s.IntN(2) {
		all = append(all, members{"properties": members{"event": members{"const": s.token()}, "data": data()}})
	}
	return s.as("server-sent events of several types", members{"type": "object", "required": []any{"event", "data"}, "properties": members{"id": members{"type": "string"}, "retry": members{"type": "integer"}}, "oneOf": all})
}

func (s *Smith) responses(head bool) members {
	all := members{
		"400": members{"$ref": "#/components/responses/BadRequest"},
		"500": members{"$ref": "#/components/responses/InternalServerError"},
	}
	kind := s.deal("responses", kinds)
	statuses := pick(s, []string{"200"}, []string{"200", "default"}, []string{"201", "404"}, []string{"2XX"}, []string{"200", "202"}, []string{"default"}, []string{"200", "4XX"})
	switch kind {
	case lines, events, beside:
		statuses = statuses[:1]
	case redirect:
		statuses = []string{pick(s, "301", "302", "303", "307")}
	}
	for _, status := range statuses {
		switch status {
		case "default":
			s.use("default")
		case "2XX", "4XX":
			s.use("range of statuses")
		case "202":
			s.use("several statuses")
			if kind > inJSON && !head {
				s.use("results of several types")
			}
		}
		all[status] = s.response(kind)
	}
	return all
}

// sibling returns a path item for a path without its suffix, which must not take the requests of the other.
func (s *Smith) sibling(parameters ...[]any) members {
	id := s.name()
	s.uses[id] = []string{"path suffix"}
	return members{"get": members{
		"operationId": id, "security": []any{}, "parameters": slices.Concat(parameters...),
		"responses": members{"204": members{"description": "d"}},
	}}
}

func (s *Smith) operation() {
	s.used = nil
	method := pick(s, "get", "put", "post", "patch", "delete", "head", "put", "post", "patch", "options")
	path := fmt.Sprintf("/smith/%d", len(s.paths))
	o, item := members{"operationId": s.name(), "security": []any{}}, members{method: nil}
	if s.chance(60) {
		var own, shared []any
		taken := map[string]bool{}
		for _, in := range []string{"path", "query", "header", "cookie"} {
			for range s.IntN(3) {
				p := s.parameter(in, taken)
				if in == "path" {
					path += fmt.Sprintf("/{%s}", p["name"])
				}
				if name, _ := p["name"].(string); !taken[name] { // a component has its own name
					p = s.maybeComponent("parameters", p)
				}
				if s.chance(15) {
					s.use("parameters of a path item")
					shared = append(shared, p)
				} else {
					own = append(own, p)
				}
			}
		}
		o["parameters"], item["parameters"] = append([]any{}, own...), append([]any{}, shared...)
		if strings.HasSuffix(path, "}") && s.chance(30) {
			s.use("path suffix")
			s.paths[path] = s.sibling(own, shared)
			path += pick(s, ":check", ".json", "-x", "('x')", "%3Ax")
		}
	}
	if (method == "put" || method == "post" || method == "patch") && s.chance(90) {
		o["requestBody"] = s.requestBody()
	}
	if method == "head" {
		s.use("HEAD")
	}
	if s.chance(10) {
		s.use("callback")
		o["callbacks"] = members{"done": members{"{$request.body#/url}": members{"post": members{
			"operationId": s.name(), "requestBody": members{"required": true, "content": members{"application/json": members{"schema": s.object(1)}}},
			"responses": members{"204": members{"description": "d"}},
		}}}}
	}
	o["responses"] = s.responses(method == "head")
	item[method] = o
	s.paths[path] = item
	s.uses[o["operationId"].(string)] = s.used
}
