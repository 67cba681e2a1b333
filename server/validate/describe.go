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
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
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
			source := c.Resolve(element)
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
				c.Fail(element, "occurs more than once in its list: "+name.Text)
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
				c.Fail(wholeQuery, "is the whole query, beside which no other parameter may be in the query")
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
		if !document.IsToken(name) {
			c.Fail(source, "has a name that no header can have: "+name)
		}
		p.canonical = textproto.CanonicalMIMEHeaderKey(name)
	case inQuery:
		p.unescape = url.QueryUnescape
	case inQueryString:
		p.unescape = url.PathUnescape // a plus is no space, except in a form
		c.Since32(in)
		for _, name := range []string{"schema", "allowReserved"} {
			if member := source.Get(name); member != nil {
				c.Fail(member, "is not for querystring parameters, which have content")
			}
		}
	case inCookie:
	default:
		c.Fail(in, "is not path, query, querystring, header or cookie: "+in.Text)
	}
	c.serialization(p, stylesIn(p.in), source)
	if member := source.Get("allowEmptyValue"); member.IsTrue() && p.in != inQuery {
		c.Fail(member, "is for query parameters")
	}
	if member := source.Get("allowReserved"); member.IsTrue() && p.in != inQuery {
		switch {
		case p.in == inHeader || p.style == styleCookie:
			c.Fail(member, "is for values that are percent-encoded")
		case p.in != inQueryString:
			c.Since32(member)
		}
	}
	c.value(p, source)
	return p
}

// serialization sets style and explode. The default is the first of styles.
func (c *compiler) serialization(p *parameter, styles []string, source *document.Node) {
	p.style = styles[0]
	if style := source.Get("style"); style != nil {
		p.style = style.Text
		if !slices.Contains(styles, p.style) {
			c.Fail(style, "is not "+document.OneOf(styles))
		}
		if p.style == styleCookie {
			c.Since32(style)
		}
	}
	p.explode = p.style == styleForm || p.style == styleCookie
	if explode := source.Get("explode"); explode != nil {
		p.explode = explode.IsTrue()
	}
}

// value compiles the schema or the content of a parameter.
func (c *compiler) value(p *parameter, source *document.Node) {
	of, content := source.Get("schema"), source.Get("content")
	switch {
	case of != nil && content != nil:
		c.Fail(content, "must not be beside schema")
	case of != nil:
		p.node = c.Schema(of)
	case content == nil:
		c.Fail(source, "must have the member schema or the member content")
	case len(content.Members) != 1:
		c.Fail(content, "must have one media type")
	default:
		c.contentOf(p, source, content)
	}
	c.WhenCompiled(func() {
		p.setShape(schema.ShapeOf(p.node))
		if p.json || p.node == nil {
			return
		}
		switch at := source.Get("style"); {
		case at == nil:
		case p.style == styleDeepObject && p.shape.Types&schema.KindObject == 0:
			c.Fail(at, "is for objects")
		case (p.style == styleSpaceDelimited || p.style == stylePipeDelimited) && p.shape.Types&(schema.KindArray|schema.KindObject) == 0:
			c.Fail(at, "is for arrays and objects")
		}
		p.plain = p.node.HasOneType() && (p.in == inHeader || p.in == inQuery) && !p.allowEmpty && !p.reserved
	})
}

// contentOf compiles the only media type of a parameter with content. Such a parameter is decoded from a
// single text.
func (c *compiler) contentOf(p *parameter, source, content *document.Node) {
	for _, name := range []string{"style", "explode"} {
		if member := source.Get(name); member != nil {
			c.Fail(member, "must not be beside content")
		}
	}
	media := content.Members[0]
	at := c.Resolve(media.Value)
	p.json = schema.IsJSONMedia(media.Name)
	switch {
	case p.in == inQueryString && media.Name == mediaForm:
		p.form = &form{root: p.pointer}
		c.WhenCompiled(func() { c.form(at, p.form, schema.ShapeOf(p.node)) })
	case p.in == inQueryString && !p.json:
		c.WhenCompiled(func() {
			if schema.ShapeOf(p.node).Types&schema.KindScalar == 0 {
				c.Fail(at.Get("schema"), "does not allow text")
			}
		})
	case !p.json && media.Name != mediaText:
		c.Unsupported(content.Key(media), "is not JSON or "+mediaText)
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
		c.Fail(content, "must have a media type")
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
		c.Unsupported(source.Key(m), "is no media type that can be checked")
		return &content{media: m.Name}
	}
	result := &content{media: media, params: params}
	at := c.Resolve(m.Value)
	if at == nil {
		return result
	}
	items := itemSchema(at)
	byPosition := strings.HasPrefix(media, "multipart/") &&
		(items != nil || c.Is32 && media != mediaMultipart && at.Get("schema") != nil || hasPositions(at))
	result.node = c.mediaType(at, media, byPosition)
	if items != nil {
		c.items(result, at, items, byPosition)
	}
	switch {
	case byPosition:
		result.multipart = &multiparts{}
		headers := c.encodingHeaders(at)
		c.WhenCompiled(func() {
			c.positions(at, cmp.Or(items, at.Get("schema")), result, schema.ShapeOf(result.node), headers)
		})
	case result.isStream:
	case c.Is32 && formatOf(media) != 0 && at.Get("schema") != nil:
		result.format = formatOf(media)
	case schema.IsJSONMedia(media):
		result.json = true
	case media == mediaText:
		result.text = &schema.Shape{}
		c.WhenCompiled(func() {
			result.text = schema.ShapeOf(result.node)
			if result.text.Types&schema.KindScalar == 0 {
				c.Fail(at.Get("schema"), "does not allow text")
			}
		})
	case media == mediaForm:
		result.form = &form{}
		c.WhenCompiled(func() { c.form(at, result.form, schema.ShapeOf(result.node)) })
	case media == mediaMultipart:
		result.multipart = &multiparts{byName: make(map[string]*part)}
		headers := c.encodingHeaders(at)
		c.WhenCompiled(func() { c.multipart(at, result.multipart, schema.ShapeOf(result.node), headers) })
	case inRange(mediaJSON, media) && !result.node.IsLength():
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
func (c *compiler) mediaType(at *document.Node, media string, byPosition bool) *schema.Node {
	if encoding := at.Get("encoding"); encoding != nil && (byPosition || media != mediaForm && media != mediaMultipart) {
		c.Unsupported(encoding, "is for forms and "+mediaMultipart)
	}
	for _, name := range positions() {
		if encoding := at.Get(name); encoding != nil && !byPosition {
			c.Unsupported(encoding, "is for multipart")
		}
	}
	switch schema := at.Get("schema"); {
	case schema == nil:
		return withoutSchema(media)
	case c.Is32:
		return c.itemOf(formatOf(media), schema)
	default:
		return c.Schema(schema)
	}
}

// withoutSchema returns the schema of a media type that has none and whose values are not JSON: a text is a string, and so
// is each field of a form. It returns nil for any value.
func withoutSchema(media string) *schema.Node {
	switch media {
	case mediaText:
		return schema.NewText()
	case mediaForm:
		return schema.NewTexts()
	}
	return nil
}

// opaque returns the minimum and maximum size of a body whose content is not checked. It reports a schema
// that constrains anything else as unsupported.
func (c *compiler) opaque(at *document.Node, n *schema.Node) [2]schema.Limit {
	least, most, only := n.Size()
	if !only {
		c.Unsupported(at, "says more than the length of a body that is not looked into")
	}
	return [2]schema.Limit{least, most}
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
				c.Unsupported(declared, "has content, which this status does not have")
				o.exact[code] = &response{headers: r.headers}
			}
		case document.IsStatus(status): // a range such as 2XX
			o.ranges[status[0]-'0'] = r
		}
	}
}

func (c *compiler) response(source *document.Node) *response {
	if source = c.Resolve(source); source == nil {
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
		if header = c.Resolve(header); header != nil {
			headers = append(headers, c.parameter(header, name, nil))
		}
	}
	return headers
}
