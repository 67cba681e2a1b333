package validate

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// form compiles the fields of application/x-www-form-urlencoded.
func (c *compiler) form(at *document.Node, f *form, s *shape) {
	f.shape = s
	c.checkFields(at, s)
	for _, name := range s.names() {
		p := &parameter{pointer: "/" + document.Escape(name)}
		p.name, p.unescape, p.style, p.explode = name, url.QueryUnescape, styleForm, true
		encoding, member := at.Get("encoding").Get(name), s.member(name)
		contentType := encoding.Get("contentType")
		switch {
		case encoding.Get("style") != nil || encoding.Get("explode") != nil || encoding.Get("allowReserved") != nil:
			c.serialization(p, stylesIn(inQuery), encoding)
			p.reserved = isTrue(encoding.Get("allowReserved"))
		case contentType != nil && isJSON(contentType.Text):
			p.json = true
		case contentType != nil && contentType.Text != mediaText:
			c.unsupported(contentType, "is not JSON or "+mediaText)
		case member.types&kindScalar == 0:
			p.style = styleDeepObject // the generated client writes elements and members in this style
			p.orJSON = member.types&kindArray == 0
		}
		if headers := encoding.Get("headers"); headers != nil {
			c.unsupported(headers, "is for multipart")
		}
		p.setShape(member)
		f.fields = append(f.fields, p)
	}
}

// multipart compiles the parts of multipart/form-data.
func (c *compiler) multipart(at *document.Node, m *multiparts, s *shape, headers map[string][]*parameter) {
	m.shape = s
	c.checkFields(at, s)
	for _, name := range s.names() {
		p := &part{name: name, token: "/" + document.Escape(name), shape: s.member(name), headers: headers[name]}
		if p.shape.types&kindArray != 0 && p.shape.types&(kindObject|kindScalar) == 0 {
			p.repeated, p.shape = true, p.shape.element(math.MaxInt)
		}
		encoding := at.Get("encoding").Get(name)
		for _, member := range []string{"style", "explode", "allowReserved"} {
			if style := encoding.Get(member); style != nil {
				c.unsupported(style, "is for "+mediaForm)
			}
		}
		p.setMedia(encoding.Get("contentType"))
		if p.streamed {
			for _, n := range p.shape.nodes {
				p.size = c.opaque(cmp.Or(at.Get("schema").Get("properties").Get(name), at), n)
			}
		}
		m.parts[name] = p
	}
}

// encodingHeaders compiles the headers of the parts, by part.
func (c *compiler) encodingHeaders(at *document.Node) map[string][]*parameter {
	all := make(map[string][]*parameter)
	for name, encoding := range at.Get("encoding").All() {
		all[name] = c.headers(encoding.Get("headers"))
		for _, h := range all[name] {
			h.pointer = "/" + document.Escape(name) + "/" + h.pointer
		}
	}
	return all
}

// setMedia sets the media types of a part. The default is JSON for objects, text for scalars, and any type
// for values without a type or with the format binary.
func (p *part) setMedia(contentType *document.Node) {
	if contentType != nil {
		for media := range strings.SplitSeq(contentType.Text, ",") {
			if media = strings.ToLower(strings.TrimSpace(media)); media != "" {
				p.media = append(p.media, media)
			}
		}
	}
	isBinary := slices.ContainsFunc(p.shape.nodes, func(n *node) bool { return n.format.isBinary() })
	switch {
	case len(p.media) > 0:
		p.json = !slices.ContainsFunc(p.media, func(media string) bool { return !isJSON(media) })
		p.streamed = !p.json && slices.ContainsFunc(p.media, func(media string) bool { return media != mediaText })
	case isBinary || p.shape.types == kindAny:
		p.streamed = true
	case p.shape.types&kindObject != 0:
		p.json, p.media = true, []string{mediaJSON}
	default:
		p.media = []string{mediaText}
	}
}

// checkFields reports a schema without fields, and encodings for fields that it does not have.
func (c *compiler) checkFields(at *document.Node, s *shape) {
	if s.types&kindObject == 0 {
		c.fail(at.Get("schema"), "does not allow an object")
	}
	for name, encoding := range at.Get("encoding").All() {
		if !s.declares(name) {
			c.fail(encoding, "is no property of the schema")
		}
	}
}
