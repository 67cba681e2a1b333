package validate

import (
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// parameters compiles the parameters of an operation. Its own parameters override those of the path item.
func (c *compiler) parameters(shared, own *document.Node, security [][]SecurityRequirement) []*parameter {
	var parameters []*parameter
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
			if in.Text == "querystring" {
				c.NotSupported(in)
				continue
			}
			p := c.parameter(source, name.Text, in)
			switch i := slices.IndexFunc(parameters, func(q *parameter) bool {
				return q.pointer == p.pointer || q.in == inHeader && p.in == inHeader && strings.EqualFold(q.name, p.name)
			}); {
			case i < 0:
				parameters = append(parameters, p)
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
	case inCookie:
	default:
		c.Fail(in, "is not path, query, header or cookie: "+in.Text)
	}
	c.serialization(p, stylesIn(p.in), source)
	if member := source.Get("allowEmptyValue"); member.IsTrue() && p.in != inQuery {
		c.Fail(member, "is for query parameters")
	}
	if member := source.Get("allowReserved"); member.IsTrue() && p.in != inQuery {
		c.Unsupported(member, "is for query parameters")
	}
	c.value(p, source)
	return p
}

// serialization sets style and explode. The default is the first of styles.
func (c *compiler) serialization(p *parameter, styles []string, source *document.Node) {
	p.style = styles[0]
	if style := source.Get("style"); style != nil {
		switch {
		case slices.Contains(styles, style.Text):
			p.style = style.Text
		case style.Text == "cookie":
			c.NotSupported(style)
		default:
			c.Fail(style, "is not "+document.OneOf(styles))
		}
	}
	p.explode = p.style == styleForm
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
	if !p.json && media.Name != mediaText {
		c.Unsupported(content.Key(media), "is not JSON or "+mediaText)
		return
	}
	p.explode = false
	if p.in == inCookie { // cookies cannot contain some characters of JSON
		p.unescape = url.QueryUnescape
	}
	p.node = c.mediaType(at, media.Name)
}
