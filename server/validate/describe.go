package validate

import (
	"maps"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// This file reads parameters, bodies and responses from the document. It is the only one that
// knows the types of the document for them.

// parameters compiles those of a path item and those of an operation, which come first.
func (c *compiler) parameters(at string, shared, own openapi3.Parameters) []*parameter {
	var parameters []*parameter
	for i, ref := range slices.Concat(own, shared) {
		if ref == nil || ref.Value == nil {
			c.fail(at+"/"+strconv.Itoa(i), "is not resolved")
			continue
		}
		p := c.parameter(place(at+"/"+strconv.Itoa(i), ref.Ref), ref.Value)
		if !slices.ContainsFunc(parameters, func(q *parameter) bool { return q.pointer == p.pointer }) {
			parameters = append(parameters, p)
		}
	}
	for _, p := range parameters {
		for _, q := range parameters {
			if q != p && q.in == p.in {
				p.foreign = append(p.foreign, q.name)
			}
		}
	}
	return parameters
}

func (c *compiler) parameter(at string, source *openapi3.Parameter) *parameter {
	rest := *source
	rest.Name, rest.In, rest.Description, rest.Deprecated = "", "", "", false
	rest.Required, rest.Schema, rest.Content, rest.Example, rest.Examples = false, nil, nil, nil, nil
	rest.Style, rest.Explode, rest.AllowEmptyValue, rest.AllowReserved = "", nil, false, false
	c.refuseRest(at, &rest, source.Extensions)
	p := &parameter{
		in:         source.In,
		pointer:    source.In + ":" + source.Name,
		required:   source.Required,
		allowEmpty: source.AllowEmptyValue,
		reserved:   source.AllowReserved,
	}
	p.name = source.Name
	if source.Name == "" {
		c.fail(at+"/name", "is missing")
	}
	if source.In != inQuery && source.AllowEmptyValue {
		c.fail(at+"/allowEmptyValue", "is for query parameters")
	}
	if source.In != inQuery && source.AllowReserved {
		c.fail(at+"/allowReserved", "is for query parameters")
	}
	styles := []string{styleSimple}
	switch source.In {
	case inPath:
		styles = []string{styleSimple, styleLabel, styleMatrix}
		p.unescape = url.PathUnescape
		if !source.Required {
			c.fail(at+"/required", "must be true in a path")
		}
	case inHeader:
		p.canonical = textproto.CanonicalMIMEHeaderKey(source.Name)
		switch p.canonical {
		case "Accept", "Content-Type", "Authorization", "Host":
			c.fail(at+"/name", "is no header that a parameter can have: %s", source.Name)
		}
	case inQuery:
		styles = []string{styleForm, styleSpaceDelimited, stylePipeDelimited, styleDeepObject}
		p.unescape = url.QueryUnescape
	case inCookie:
		styles = []string{styleForm}
	default:
		c.fail(at+"/in", "is not path, query, header or cookie: %s", source.In)
	}
	c.serialization(at, p, styles, source.Style, source.Explode)
	c.value(at, p, source)
	return p
}

// serialization sets style and explode. The first of the styles is the default.
func (c *compiler) serialization(at string, p *parameter, styles []string, style string, explode *bool) {
	p.style = styles[0]
	if style != "" {
		p.style = style
	}
	if !slices.Contains(styles, p.style) {
		c.fail(at+"/style", "is not %s", oneOf(styles))
	}
	p.explode = p.style == styleForm
	if explode != nil {
		p.explode = *explode
	}
}

// value compiles the schema or the content of a parameter.
func (c *compiler) value(at string, p *parameter, source *openapi3.Parameter) {
	switch {
	case source.Schema != nil && source.Content != nil:
		c.fail(at+"/content", "must not be beside schema")
	case source.Schema != nil:
		p.node = c.schema(at+"/schema", source.Schema)
	case len(source.Content) == 1:
		for name, media := range source.Content {
			at := at + "/content/" + token(name)
			p.json = isJSON(name)
			if !p.json && name != mediaText {
				c.fail(at, "is not JSON or %s", mediaText)
				return
			}
			if source.Style != "" || source.Explode != nil {
				c.fail(at, "must not be beside style or explode")
			}
			p.style, p.explode = styles(p.in), false
			p.unescape = contentUnescape(p)
			p.node = c.mediaType(at, media, false)
		}
	default:
		c.fail(at+"/schema", "is missing")
		return
	}
	c.whenCompiled(func(known shapes) {
		p.settle(known.of(p.node))
		switch {
		case p.json || p.node == nil:
			return
		case p.style == styleDeepObject && p.shape.types&kindObject == 0:
			c.fail(at+"/style", "is for objects")
		case (p.style == styleSpaceDelimited || p.style == stylePipeDelimited) && p.shape.types&(kindArray|kindObject) == 0:
			c.fail(at+"/style", "is for arrays and objects")
		}
		switch p.node.types {
		case kindString, kindInteger, kindNumber, kindBoolean:
			p.plain = p.in == inHeader || p.in == inQuery
		}
	})
}

// styles returns the style in which a parameter with content is read as one text.
func styles(in string) string {
	if in == inQuery || in == inCookie {
		return styleForm
	}
	return styleSimple
}

// contentUnescape returns how the text of a content is unescaped: in a cookie it is, for JSON has
// characters that a cookie cannot have.
func contentUnescape(p *parameter) func(string) (string, error) {
	if p.in == inCookie {
		return url.QueryUnescape
	}
	return p.unescape
}

// locate finds the parameters of a path in it, each of which is a whole segment: net/http routes
// nothing else.
func (c *compiler) locate(at, path string, parameters []*parameter) {
	segments := strings.Split(path, "/")
	found := make(map[string]int)
	for i, segment := range segments {
		name, isWhole := strings.CutPrefix(segment, "{")
		name, closed := strings.CutSuffix(name, "}")
		if isWhole && closed && !strings.ContainsAny(name, "{}") {
			if _, again := found[name]; again {
				c.fail(at, "has the path parameter %s twice", name)
			}
			found[name] = len(segments) - 1 - i
		} else if strings.ContainsAny(segment, "{}") {
			c.fail(at, "has a path with a parameter that is not a whole segment: %s", segment)
		}
	}
	for _, p := range parameters {
		if p.in != inPath {
			continue
		}
		fromEnd, ok := found[p.name]
		if !ok {
			c.fail(at, "has a path without its parameter %s", p.name)
		}
		p.fromEnd = fromEnd
		delete(found, p.name)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		c.fail(at, "does not describe the path parameter %s", name)
	}
}

func (c *compiler) requestBody(at string, ref *openapi3.RequestBodyRef) *requestBody {
	if ref.Value == nil {
		c.fail(at, "is not resolved")
		return &requestBody{}
	}
	at = place(at, ref.Ref)
	rest := *ref.Value
	rest.Description, rest.Required, rest.Content = "", false, nil
	c.refuseRest(at, &rest, ref.Value.Extensions)
	if len(ref.Value.Content) == 0 {
		c.fail(at+"/content", "is empty")
	}
	body := &requestBody{required: ref.Value.Required, contents: c.contents(at+"/content", ref.Value.Content)}
	body.accepted = body.contents.String()
	if len(body.contents) == 1 && isText(body.contents[0].media) {
		body.accepted += " in UTF-8"
	}
	return body
}

func (c *compiler) contents(at string, source openapi3.Content) contents {
	var all contents
	for _, name := range slices.Sorted(maps.Keys(source)) {
		all = append(all, c.content(at+"/"+token(name), name, source[name]))
	}
	all.sort()
	return all
}

func (c *compiler) content(at, name string, source *openapi3.MediaType) *content {
	media, params, err := mime.ParseMediaType(name)
	kind, sub, _ := strings.Cut(media, "/")
	if charset := params["charset"]; err != nil || sub == "" || kind == "*" && sub != "*" ||
		strings.Contains(strings.TrimSuffix(media, "/*"), "*") && media != "*/*" ||
		len(params) > 1 || len(params) == 1 && !strings.EqualFold(charset, "utf-8") {
		c.fail(at, "is no media type that can be checked")
		return &content{media: name}
	}
	result := &content{media: media}
	isForm := media == mediaForm || media == mediaMultipart
	result.node = c.mediaType(at, source, isForm)
	switch {
	case isJSON(media):
		result.json = true
	case media == mediaText:
		c.whenCompiled(func(known shapes) {
			result.text = known.of(result.node)
			if result.text.types&kindScalar == 0 {
				c.fail(at+"/schema", "does not allow text")
			}
		})
		result.text = &shape{}
	case media == mediaForm:
		result.form = &form{}
		c.whenCompiled(func(known shapes) { c.form(at, result, source, known.of(result.node)) })
	case media == mediaMultipart:
		result.multipart = &multiparts{parts: make(map[string]*part)}
		headers := c.encodingHeaders(at, source)
		c.whenCompiled(func(known shapes) { c.multipart(at, result, source, known.of(result.node), headers) })
	default:
		result.size = c.opaque(at+"/schema", result.node)
	}
	return result
}

// mediaType compiles the schema of a content; nil allows every value.
func (c *compiler) mediaType(at string, media *openapi3.MediaType, isForm bool) *node {
	if media == nil {
		return nil
	}
	rest := *media
	rest.Schema, rest.Example, rest.Examples = nil, nil, nil
	if isForm {
		rest.Encoding = nil
	}
	c.refuseRest(at, &rest, media.Extensions)
	if media.Schema == nil {
		return nil
	}
	return c.schema(at+"/schema", media.Schema)
}

// opaque returns the least and most bytes of what is not looked into, and refuses a schema that
// says anything else.
func (c *compiler) opaque(at string, n *node) (size [2]limit) {
	if n == nil {
		return size
	}
	rest := *n
	rest.types &^= kindString
	rest.minLength, rest.maxLength = limit{}, limit{}
	if rest.format != nil && rest.format.detail == "" { // binary
		rest.format = nil
	}
	if !reflect.ValueOf(rest).IsZero() {
		c.fail(at, "says more than the length of a body that is not looked into")
	}
	return [2]limit{n.minLength, n.maxLength}
}

// form compiles the fields of application/x-www-form-urlencoded.
func (c *compiler) form(at string, result *content, source *openapi3.MediaType, s *shape) {
	result.form.shape = s
	if s.types&kindObject == 0 {
		c.fail(at+"/schema", "does not allow an object")
	}
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		p := &parameter{pointer: "/" + token(name)}
		p.name, p.unescape, p.style, p.explode = name, url.QueryUnescape, styleForm, true
		encoding := c.encoding(at, source, name)
		member := s.members[name]
		switch {
		case encoding.Style != "" || encoding.Explode != nil || encoding.AllowReserved:
			c.serialization(at+"/encoding/"+token(name), p,
				[]string{styleForm, styleSpaceDelimited, stylePipeDelimited, styleDeepObject}, encoding.Style, encoding.Explode)
			p.reserved = encoding.AllowReserved
		case isJSON(encoding.ContentType):
			p.json = true
		case encoding.ContentType != "" && encoding.ContentType != mediaText:
			c.fail(at+"/encoding/"+token(name)+"/contentType", "is not JSON or %s", mediaText)
		case member.types&kindScalar == 0:
			p.style = styleDeepObject // as the generated client writes elements and members
			p.orJSON = member.types&kindArray == 0
		}
		if len(encoding.Headers) > 0 {
			c.fail(at+"/encoding/"+token(name)+"/headers", "is for multipart")
		}
		p.settle(member)
		result.form.fields = append(result.form.fields, p)
	}
	c.refuseEncodings(at, source, s)
}

// multipart compiles the parts of multipart/form-data.
func (c *compiler) multipart(
	at string, result *content, source *openapi3.MediaType, s *shape, headers map[string][]*parameter,
) {
	result.multipart.shape = s
	if s.types&kindObject == 0 {
		c.fail(at+"/schema", "does not allow an object")
	}
	schemaAt := at + "/schema"
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		at := at + "/encoding/" + token(name)
		p := &part{name: name, token: "/" + token(name), shape: s.members[name]}
		if p.shape.types&kindArray != 0 && p.shape.types&(kindObject|kindScalar) == 0 {
			p.repeated, p.shape = true, p.shape.items
		}
		encoding := c.encoding(at, source, name)
		if encoding.Style != "" || encoding.Explode != nil || encoding.AllowReserved {
			c.fail(at, "has a style, which is for %s", mediaForm)
		}
		p.setMedia(encoding.ContentType)
		if p.streamed {
			for _, n := range p.shape.nodes {
				p.size = c.opaque(schemaAt+"/properties/"+token(name), n)
			}
		}
		p.headers = headers[name]
		result.multipart.parts[name] = p
	}
	c.refuseEncodings(at, source, s)
}

// encodingHeaders compiles the headers of parts.
func (c *compiler) encodingHeaders(at string, source *openapi3.MediaType) map[string][]*parameter {
	headers := make(map[string][]*parameter)
	if source == nil {
		return headers
	}
	for _, name := range slices.Sorted(maps.Keys(source.Encoding)) {
		encoding := c.encoding(at, source, name)
		at := at + "/encoding/" + token(name) + "/headers/"
		for _, header := range slices.Sorted(maps.Keys(encoding.Headers)) {
			if textproto.CanonicalMIMEHeaderKey(header) == "Content-Type" {
				continue // contentType says it, as OpenAPI has it
			}
			if h := c.header(at+token(header), header, encoding.Headers[header]); h != nil {
				h.pointer = "/" + token(name) + "/" + h.pointer
				headers[name] = append(headers[name], h)
			}
		}
	}
	return headers
}

// setMedia sets the media types of a part: those of its encoding, else JSON for an object, text
// for a scalar, and any for what has no type or the format binary.
func (p *part) setMedia(contentType string) {
	for media := range strings.SplitSeq(contentType, ",") {
		if media = strings.ToLower(strings.TrimSpace(media)); media != "" {
			p.media = append(p.media, media)
		}
	}
	binary := slices.ContainsFunc(p.shape.nodes, func(n *node) bool { return n.format != nil && n.format.detail == "" })
	switch {
	case len(p.media) > 0:
		p.json = !slices.ContainsFunc(p.media, func(media string) bool { return !isJSON(media) })
		isText := !slices.ContainsFunc(p.media, func(media string) bool { return media != mediaText })
		p.streamed = !p.json && !isText
	case binary || p.shape.types == kindAny:
		p.streamed = true
	case p.shape.types&kindObject != 0:
		p.json, p.media = true, []string{mediaJSON}
	default:
		p.media = []string{mediaText}
	}
}

// encoding returns the encoding of a property, which may be empty.
func (c *compiler) encoding(at string, source *openapi3.MediaType, name string) openapi3.Encoding {
	if source == nil || source.Encoding[name] == nil {
		return openapi3.Encoding{}
	}
	rest := *source.Encoding[name]
	encoding := rest
	rest.ContentType, rest.Headers, rest.Style, rest.Explode, rest.AllowReserved = "", nil, "", nil, false
	c.refuseRest(at+"/encoding/"+token(name), &rest, encoding.Extensions)
	return encoding
}

// refuseEncodings refuses encodings of properties that the schema does not name.
func (c *compiler) refuseEncodings(at string, source *openapi3.MediaType, s *shape) {
	if source == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(source.Encoding)) {
		if s.members[name] == nil {
			c.fail(at+"/encoding/"+token(name), "is no property of the schema")
		}
	}
}

func (c *compiler) responses(at string, o *Operation, source *openapi3.Responses) {
	if source == nil {
		return
	}
	c.refuseRest(at, &struct{}{}, source.Extensions)
	for _, status := range source.Keys() {
		at := at + "/" + status
		r := c.response(at, source.Value(status))
		code, err := strconv.Atoi(status)
		switch {
		case status == "default":
			o.fallback = r
		case len(status) == 3 && '1' <= status[0] && status[0] <= '5' && status[1:] == "XX":
			o.ranges[status[0]-'0'] = r
		case len(status) == 3 && err == nil && code >= 100:
			o.exact[code] = r
			if r != nil && len(r.contents) > 0 && (code < 200 || code == http.StatusNoContent || code == http.StatusResetContent) {
				c.fail(at+"/content", "is of a status that has no body")
			}
		default:
			c.fail(at, "is no status")
		}
	}
}

func (c *compiler) response(at string, ref *openapi3.ResponseRef) *response {
	if ref == nil || ref.Value == nil {
		c.fail(at, "is not resolved")
		return nil
	}
	if r := c.answers[ref.Value]; r != nil {
		return r
	}
	at = place(at, ref.Ref)
	rest := *ref.Value
	rest.Description, rest.Headers, rest.Content, rest.Links = nil, nil, nil, nil
	c.refuseRest(at, &rest, ref.Value.Extensions)
	r := &response{}
	c.answers[ref.Value] = r
	for _, name := range slices.Sorted(maps.Keys(ref.Value.Headers)) {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			continue // the content says it, as OpenAPI has it
		}
		if h := c.header(at+"/headers/"+token(name), name, ref.Value.Headers[name]); h != nil {
			r.headers = append(r.headers, h)
		}
	}
	r.contents = c.contents(at+"/content", ref.Value.Content)
	return r
}

func (c *compiler) header(at, name string, ref *openapi3.HeaderRef) *parameter {
	if ref == nil || ref.Value == nil {
		c.fail(at, "is not resolved")
		return nil
	}
	source := ref.Value.Parameter
	source.Name, source.In = name, openapi3.ParameterInHeader
	return c.parameter(place(at, ref.Ref), &source)
}
