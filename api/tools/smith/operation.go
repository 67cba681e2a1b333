package smith

import (
	"fmt"
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

// list returns the schema of a list of scalars.
func (s *Smith) list() members { return members{"type": "array", "items": s.scalar(), "maxItems": 3} }

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
		p["schema"] = s.list()
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

// form returns the description of a form in a media type.
func (s *Smith) form(media string) members {
	name, _, _ := strings.Cut(strings.TrimPrefix(media, "application/x-www-form-"), "/")
	properties, encoding, required := members{}, members{}, []any{}
	for range 2 + s.IntN(5) {
		field := s.name()
		if s.chance(20) {
			required = append(required, field)
		}
		switch s.deal(name, 7) {
		case 0, 1:
			s.use(name)
			properties[field] = s.field(name)
		case 2:
			s.use(name + " list")
			properties[field] = members{"type": "array", "items": s.field(name), "maxItems": 3}
		case 3:
			s.use(name + " JSON")
			properties[field] = s.object(1)
			if s.chance(50) {
				encoding[field] = members{"contentType": "application/json"}
			}
		case 4:
			s.use(name + " list of JSON")
			properties[field] = members{"type": "array", "items": s.object(1), "maxItems": 3}
		case 5:
			if name != "multipart" {
				s.use(name + " list with commas")
				properties[field], encoding[field] = s.list(), members{"explode": false}
				break
			}
			s.use("multipart file")
			properties[field] = binary
			if s.chance(50) {
				encoding[field] = members{"contentType": pick(s, "image/png", "image/png, image/jpeg", "image/*")}
			}
		default:
			if name != "multipart" {
				s.use(name)
				properties[field] = s.field(name)
				break
			}
			s.use("multipart files")
			properties[field] = members{"type": "array", "items": binary}
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

func (s *Smith) requestBody() members {
	content := members{}
	body := members{"content": content, "required": true}
	switch s.deal("bodies", 20) {
	case 0:
		s.use("body in text")
		content["text/plain"] = members{"schema": s.scalar()}
	case 1, 2:
		content["application/x-www-form-urlencoded"] = s.form("application/x-www-form-urlencoded")
	case 3, 4, 5:
		content["multipart/form-data"] = s.form("multipart/form-data")
	case 6:
		s.use("body in bytes")
		content[pick(s, "application/octet-stream", "image/png")] = members{"schema": binary}
	case 7:
		s.use("body in a range")
		content[pick(s, "video/*", "*/*", "image/*")] = members{"schema": binary}
	case 8, 15:
		s.use("body without a schema")
		content[pick(s, "application/json", "text/plain", "video/mp4")] = members{}
	case 9:
		s.use("body in another JSON")
		content[pick(s, "application/merge-patch+json", "text/json", "application/vnd.smith+json")] = members{"schema": s.value(3)}
	case 10:
		s.use("body in versions of JSON")
		content["application/json; version=1"] = members{"schema": s.value(2)}
		content["application/json; version=2"] = members{"schema": s.value(2)}
	case 11:
		s.use("optional body")
		body["required"] = false
		content["application/json"] = members{"schema": s.notNull()}
	case 12, 13:
		s.use("body in several types")
		content["application/json"] = members{"schema": s.notNull()}
		content["text/plain"] = members{"schema": s.scalar()}
		content[pick(s, "video/*", "video/mp4")] = members{"schema": binary}
	case 14:
		s.use("body in JSON that may be null")
		content["application/json"] = members{"schema": s.nullable(s.object(2))}
	default:
		s.use("body in JSON")
		content["application/json"] = members{"schema": s.value(3)}
	}
	for media := range content {
		if len(content) == 1 && !strings.HasSuffix(media, "json") && s.count%2 == 0 { // JSON that may be null cannot be optional
			s.use("optional body")
			body["required"] = false
		}
	}
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
	s.use("response without a schema")
	return members{}
}

func (s *Smith) response(kind int) members {
	response := members{"description": "d"}
	if s.chance(30) {
		headers := members{}
		for range 1 + s.IntN(3) {
			schema := s.scalar()
			if s.use("header of a response"); s.chance(40) {
				s.use("list in a header of a response")
				schema = s.list()
			}
			headers[s.token()] = s.maybeComponent("headers", members{"required": s.chance(30), "schema": schema})
		}
		response["headers"] = headers
	}
	if kind == redirect {
		s.use("redirect")
		within(response, "headers")["Location"] = members{"required": true, "schema": members{"type": "string"}}
	}
	content := s.content(kind)
	if len(content) > 0 {
		response["content"] = content
	}
	return s.maybeComponent("responses", response)
}

func (s *Smith) content(kind int) members {
	switch kind {
	case nothing, redirect:
		s.use("response without content")
		return nil
	case text:
		s.use("response in text")
		return members{"text/plain": s.maybeSchema(s.scalar)}
	case bytes:
		if s.chance(40) {
			s.use("response in a range")
			return members{pick(s, "video/*", "*/*"): members{"schema": binary}}
		}
		s.use("response in bytes")
		return members{pick(s, "application/octet-stream", "image/png"): s.maybeSchema(func() members { return binary })}
	case lines:
		media, part := "application/jsonl", "JSON lines"
		if s.deal("lines", 2) == 0 {
			media, part = "application/x-ndjson", "NDJSON"
		}
		s.use(part)
		return members{media: members{"itemSchema": s.objectOrReference()}}
	case events:
		return members{"text/event-stream": members{"itemSchema": s.eventStream()}}
	case beside:
		s.use("stream beside JSON")
		item := s.reference()
		return members{"application/jsonl": members{"itemSchema": item}, "application/json": members{"schema": members{"type": "array", "items": item}}}
	case several:
		s.use("response in several types")
		return members{"application/json": members{"schema": s.value(2)}, "application/vnd.smith+json": members{"schema": s.value(2)}}
	case inJSON:
		s.use("response without a schema")
		return members{"application/json": members{}}
	case inJSON + 1, inJSON + 2:
		s.use("response in another JSON")
		return members{pick(s, "application/vnd.smith+json", "text/json"): members{"schema": s.value(2)}}
	}
	s.use("response in JSON")
	return members{"application/json": members{"schema": s.value(3)}}
}

// eventStream returns the schema of server-sent events.
func (s *Smith) eventStream() members {
	data := func() members {
		return members{"type": "string", "contentMediaType": "application/json", "contentSchema": s.objectOrReference()}
	}
	if s.deal("events", 2) == 0 {
		s.use("server-sent events")
		return members{"type": "object", "required": []any{"data"}, "properties": members{"data": data()}}
	}
	s.use("server-sent events of several types")
	var all []any
	for range 2 + s.IntN(2) {
		all = append(all, members{"properties": members{"event": members{"const": s.token()}, "data": data()}})
	}
	return members{"type": "object", "required": []any{"event", "data"}, "properties": members{"id": members{"type": "string"}, "retry": members{"type": "integer"}}, "oneOf": all}
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
				if p = s.maybeComponent("parameters", p); s.chance(15) {
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
			path += pick(s, ":check", ".json", "-x")
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
