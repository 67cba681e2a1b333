package validate

import (
	"cmp"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// parameters compiles the parameters of an operation. Its own parameters override those of the path item.
func (c *compiler) parameters(shared, own *document.Node, security [][]SecurityRequirement) []*parameter {
	var parameters []*parameter
	var wholeQuery *document.Node
	for _, list := range []*document.Node{own, shared} {
		if list == nil {
			continue
		}
		overriding := len(parameters)
		for _, element := range list.Elements {
			source := c.resolve(element)
			name, in := source.Get("name"), source.Get("in")
			if name == nil || in == nil || in.Text == inHeader && isIgnoredHeader(name.Text) {
				continue
			}
			p := c.parameter(source, name.Text, in)
			switch i := slices.IndexFunc(parameters, func(q *parameter) bool {
				return q.pointer == p.pointer || q.in == inHeader && p.in == inHeader && strings.EqualFold(q.name, p.name)
			}); {
			case i < 0:
				parameters = append(parameters, p)
				if p.in == inQueryString {
					wholeQuery = element
				}
			case i >= overriding:
				c.fail(element, "occurs more than once in its list: "+name.Text)
			}
		}
	}
	keys := apiKeys(security)
	for _, p := range parameters {
		for _, q := range slices.Concat(parameters, keys) {
			if q != p && q.in == p.in {
				p.siblings = append(p.siblings, q)
			}
			if q != p && p.in == inQueryString && (q.in == inQuery || q.in == inQueryString) {
				c.fail(wholeQuery, "is the whole query, beside which no other parameter may be in the query")
			}
		}
	}
	return parameters
}

// isIgnoredHeader reports whether a parameter is ignored, as OpenAPI requires: the content and the security
// requirements describe these headers.
func isIgnoredHeader(name string) bool {
	return slices.Contains([]string{"Accept", "Content-Type", "Authorization"}, textproto.CanonicalMIMEHeaderKey(name))
}

// parameter compiles a parameter, or a header of a response or part, which has no in.
func (c *compiler) parameter(source *document.Node, name string, in *document.Node) *parameter {
	p := &parameter{
		in:         inHeader,
		required:   source.Get("required").IsTrue(),
		allowEmpty: source.Get("allowEmptyValue").IsTrue(),
		reserved:   source.Get("allowReserved").IsTrue(),
	}
	if in != nil {
		p.in = in.Text
	}
	p.name, p.pointer = name, p.in+":"+name
	switch p.in {
	case inPath:
		p.unescape = url.PathUnescape
	case inHeader:
		if !isToken(name) {
			c.fail(source, "has a name that no header can have: "+name)
		}
		p.canonical = textproto.CanonicalMIMEHeaderKey(name)
	case inQuery:
		p.unescape = url.QueryUnescape
	case inQueryString:
		p.unescape = url.PathUnescape // a plus is no space, except in a form
		c.since32(in)
		for _, name := range []string{"schema", "allowReserved"} {
			if member := source.Get(name); member != nil {
				c.fail(member, "is not for querystring parameters, which have content")
			}
		}
	case inCookie:
	default:
		c.fail(in, "is not path, query, querystring, header or cookie: "+in.Text)
	}
	c.serialization(p, stylesIn(p.in), source)
	if member := source.Get("allowEmptyValue"); member.IsTrue() && p.in != inQuery {
		c.fail(member, "is for query parameters")
	}
	if member := source.Get("allowReserved"); member.IsTrue() && p.in != inQuery {
		switch {
		case p.in == inHeader || p.style == styleCookie:
			c.fail(member, "is for values that are percent-encoded")
		case p.in != inQueryString:
			c.since32(member)
		}
	}
	c.value(p, source)
	return p
}

// since32 reports a value that needs OpenAPI 3.2.
func (c *compiler) since32(n *document.Node) {
	if !c.is32 {
		c.unsupported(n, needs32)
	}
}

// serialization sets style and explode. The default is the first of styles.
func (c *compiler) serialization(p *parameter, styles []string, source *document.Node) {
	p.style = styles[0]
	if style := source.Get("style"); style != nil {
		p.style = style.Text
		if !slices.Contains(styles, p.style) {
			c.fail(style, "is not "+oneOf(styles))
		}
		if p.style == styleCookie {
			c.since32(style)
		}
	}
	p.explode = p.style == styleForm || p.style == styleCookie
	if explode := source.Get("explode"); explode != nil {
		p.explode = explode.IsTrue()
	}
}

// value compiles the schema or the content of a parameter.
func (c *compiler) value(p *parameter, source *document.Node) {
	schema, content := source.Get("schema"), source.Get("content")
	switch {
	case schema != nil && content != nil:
		c.fail(content, "must not be beside schema")
	case schema != nil:
		p.node = c.schema(schema)
	case content == nil:
		c.fail(source, "must have the member schema or the member content")
	case len(content.Members) != 1:
		c.fail(content, "must have one media type")
	default:
		c.contentOf(p, source, content)
	}
	c.whenCompiled(func() {
		p.setShape(shapeOf(p.node))
		if p.json || p.node == nil {
			return
		}
		switch at := source.Get("style"); {
		case at == nil:
		case p.style == styleDeepObject && p.shape.types&kindObject == 0:
			c.fail(at, "is for objects")
		case (p.style == styleSpaceDelimited || p.style == stylePipeDelimited) && p.shape.types&(kindArray|kindObject) == 0:
			c.fail(at, "is for arrays and objects")
		}
		p.plain = p.node.hasOneType() && (p.in == inHeader || p.in == inQuery) && !p.allowEmpty && !p.reserved
	})
}

// contentOf compiles the only media type of a parameter with content. Such a parameter is decoded from a
// single text.
func (c *compiler) contentOf(p *parameter, source, content *document.Node) {
	for _, name := range []string{"style", "explode"} {
		if member := source.Get(name); member != nil {
			c.fail(member, "must not be beside content")
		}
	}
	media := content.Members[0]
	at := c.resolve(media.Value)
	p.json = isJSON(media.Name)
	switch {
	case p.in == inQueryString && media.Name == mediaForm:
		p.form = &form{root: p.pointer}
		c.whenCompiled(func() { c.form(at, p.form, shapeOf(p.node)) })
	case p.in == inQueryString && !p.json:
		c.whenCompiled(func() {
			if shapeOf(p.node).types&kindScalar == 0 {
				c.fail(at.Get("schema"), "does not allow text")
			}
		})
	case !p.json && media.Name != mediaText:
		c.unsupported(content.Key(media), "is not JSON or "+mediaText)
		return
	}
	p.explode = false
	if p.in == inPath || p.in == inQueryString {
		p.style = styleSimple
	}
	if p.in == inCookie { // cookies cannot contain some characters of JSON
		p.unescape = url.QueryUnescape
	}
	p.node = c.mediaType(at, media.Name, false)
}

// locate finds the position of each path parameter in the path.
func (o *Operation) locate() {
	t, _ := pathtemplate.Parse(o.path) // the loader reports errors
	for i, segment := range t.Segments {
		for _, p := range o.parameters {
			if nth := slices.Index(segment.Names, p.name); p.in == inPath && nth >= 0 {
				p.segment, p.nth, p.fromEnd = segment, nth, len(t.Segments)-1-i
			}
		}
	}
}

func (c *compiler) requestBody(source *document.Node) *requestBody {
	content := source.Get("content")
	body := &requestBody{required: source.Get("required").IsTrue(), contents: c.contents(content)}
	if content != nil && len(content.Members) == 0 {
		c.fail(content, "must have a media type")
	}
	body.accepted = body.contents.String()
	if len(body.contents) == 1 && isText(body.contents[0].media) {
		body.accepted += " in UTF-8"
	}
	return body
}

func (c *compiler) contents(source *document.Node) contents {
	if source == nil {
		return nil
	}
	var all contents
	for _, m := range source.Members {
		all = append(all, c.content(source, m))
	}
	all.sort()
	return all
}

func (c *compiler) content(source *document.Node, m document.Member) *content {
	media, params, ok := parseRange(m.Name)
	if !ok {
		c.unsupported(source.Key(m), "is no media type that can be checked")
		return &content{media: m.Name}
	}
	result := &content{media: media, params: params}
	at := c.resolve(m.Value)
	if at == nil {
		return result
	}
	items := itemSchema(at)
	byPosition := strings.HasPrefix(media, "multipart/") &&
		(items != nil || c.is32 && media != mediaMultipart && at.Get("schema") != nil || hasPositions(at))
	result.node = c.mediaType(at, media, byPosition)
	if items != nil {
		c.items(result, at, items, byPosition)
	}
	switch {
	case byPosition:
		result.multipart = &multiparts{}
		headers := c.encodingHeaders(at)
		c.whenCompiled(func() {
			c.positions(at, cmp.Or(items, at.Get("schema")), result, shapeOf(result.node), headers)
		})
	case result.isStream:
	case c.is32 && formatOf(media) != 0 && at.Get("schema") != nil:
		result.format = formatOf(media)
	case isJSON(media):
		result.json = true
	case media == mediaText:
		result.text = &shape{}
		c.whenCompiled(func() {
			result.text = shapeOf(result.node)
			if result.text.types&kindScalar == 0 {
				c.fail(at.Get("schema"), "does not allow text")
			}
		})
	case media == mediaForm:
		result.form = &form{}
		c.whenCompiled(func() { c.form(at, result.form, shapeOf(result.node)) })
	case media == mediaMultipart:
		result.multipart = &multiparts{byName: make(map[string]*part)}
		headers := c.encodingHeaders(at)
		c.whenCompiled(func() { c.multipart(at, result.multipart, shapeOf(result.node), headers) })
	case inRange(mediaJSON, media) && !result.node.isLength():
		result.inJSON = &content{media: media, json: true, node: result.node}
	default:
		result.size = c.opaque(at.Get("schema"), result.node)
	}
	return result
}

// parseRange parses a media type or media range and its parameters, except the charset, which must be UTF-8.
func parseRange(name string) (media string, params map[string]string, ok bool) {
	media, params, err := mime.ParseMediaType(name)
	charset, given := params["charset"]
	if err != nil || given && !strings.EqualFold(charset, "utf-8") {
		return "", nil, false
	}
	delete(params, "charset")
	kind, sub, _ := strings.Cut(media, "/")
	isRange := sub == "*" && (kind == "*" || !strings.Contains(kind, "*"))
	return media, params, sub != "" && (isRange && len(params) == 0 || !strings.Contains(media, "*"))
}

// mediaType compiles the schema of a media type. It returns nil if all values are allowed.
func (c *compiler) mediaType(at *document.Node, media string, byPosition bool) *node {
	if encoding := at.Get("encoding"); encoding != nil && (byPosition || media != mediaForm && media != mediaMultipart) {
		c.unsupported(encoding, "is for forms and "+mediaMultipart)
	}
	for _, name := range positions() {
		if encoding := at.Get(name); encoding != nil && !byPosition {
			c.unsupported(encoding, "is for multipart")
		}
	}
	switch schema := at.Get("schema"); {
	case schema == nil:
		return withoutSchema(media)
	case c.is32:
		return c.itemOf(formatOf(media), schema)
	default:
		return c.schema(schema)
	}
}

// withoutSchema returns the schema of a media type that has none and whose values are not JSON: a text is a string, and so
// is each field of a form. It returns nil for any value.
func withoutSchema(media string) *node {
	switch media {
	case mediaText:
		return newText()
	case mediaForm:
		return newTexts()
	}
	return nil
}

// opaque returns the minimum and maximum size of a body whose content is not checked. It reports a schema
// that constrains anything else as unsupported.
func (c *compiler) opaque(at *document.Node, n *node) [2]limit {
	least, most, only := n.size()
	if !only {
		c.unsupported(at, "says more than the length of a body that is not looked into")
	}
	return [2]limit{least, most}
}

func (c *compiler) responses(o *Operation, source *document.Node) {
	for status, declared := range source.All() {
		if strings.HasPrefix(status, "x-") {
			continue
		}
		r := c.response(declared)
		switch code, err := strconv.Atoi(status); {
		case status == "default":
			o.fallback = r
		case err == nil:
			o.exact[code] = r
			if r != nil && len(r.contents) > 0 && (code < 200 || code == http.StatusNoContent || code == http.StatusResetContent) {
				c.unsupported(declared, "has content, which this status does not have")
				o.exact[code] = &response{headers: r.headers}
			}
		case isStatus(status): // a range such as 2XX
			o.ranges[status[0]-'0'] = r
		}
	}
}

func (c *compiler) response(source *document.Node) *response {
	if source = c.resolve(source); source == nil {
		return nil
	}
	if r := c.responseCache[source]; r != nil {
		return r
	}
	r := &response{headers: c.headers(source.Get("headers"))}
	c.responseCache[source] = r
	r.contents = c.contents(source.Get("content"))
	return r
}

// headers compiles the headers of a response or part. It ignores Content-Type, as OpenAPI requires: the
// content describes it.
func (c *compiler) headers(source *document.Node) []*parameter {
	var headers []*parameter
	for name, header := range source.All() {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			continue
		}
		if header = c.resolve(header); header != nil {
			headers = append(headers, c.parameter(header, name, nil))
		}
	}
	return headers
}
