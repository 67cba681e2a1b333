package validate

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// form compiles the fields of application/x-www-form-urlencoded.
func (c *compiler) form(at *document.Node, f *form, s *schema.Shape) {
	f.shape = s
	c.checkFields(at, s)
	for _, name := range s.Names() {
		p := &parameter{pointer: "/" + document.Escape(name)}
		p.name, p.unescape, p.style, p.explode = name, url.QueryUnescape, styleForm, true
		encoding, member := at.Get("encoding").Get(name), s.Member(name)
		types, contentType := member.Types&^schema.KindNull, encoding.Get("contentType")
		switch {
		case encoding.Get("style") != nil || encoding.Get("explode") != nil || encoding.Get("allowReserved") != nil:
			c.serialization(p, stylesIn(inQuery), encoding)
		case contentType != nil && schema.IsJSONMedia(contentType.Text):
			p.json, p.explode = true, false
		case contentType != nil && contentType.Text != mediaText:
			c.Unsupported(contentType, "is not JSON or "+mediaText)
		case types == schema.KindArray:
			p.elementsJSON = member.Element(math.MaxInt).Types&schema.KindScalar&^schema.KindNull == 0
		case types != 0 && types&schema.KindScalar == 0: // the default of OpenAPI 3.1.1
			p.json, p.explode = true, false
		}
		if headers := encoding.Get("headers"); headers != nil {
			c.Unsupported(headers, "is for multipart")
		}
		p.setShape(member)
		f.fields = append(f.fields, p)
	}
	for _, p := range f.fields {
		p.siblings = slices.DeleteFunc(slices.Clone(f.fields), func(q *parameter) bool { return q == p })
	}
}

// multipart compiles the parts of multipart/form-data.
func (c *compiler) multipart(at *document.Node, m *multiparts, s *schema.Shape) {
	m.shape = s
	c.checkFields(at, s)
	for _, name := range s.Names() {
		p := &part{name: name, token: "/" + document.Escape(name), shape: s.Member(name)}
		if p.shape.Types&schema.KindArray != 0 && p.shape.Types&(schema.KindObject|schema.KindScalar) == 0 {
			p.repeated, p.shape = true, p.shape.Element(math.MaxInt)
		}
		c.part(p, cmp.Or(at.Get("schema").Get("properties").Get(name), at), at.Get("encoding").Get(name))
		m.byName[name] = p
	}
}

// part compiles a part whose schema is at.
func (c *compiler) part(p *part, at, encoding *document.Node) {
	for _, member := range []string{"style", "explode", "allowReserved"} {
		if style := encoding.Get(member); style != nil {
			c.Unsupported(style, "is for "+mediaForm)
		}
	}
	p.headers = c.headers(encoding.Get("headers"))
	p.setMedia(encoding.Get("contentType"))
	if p.streamed {
		for _, n := range p.shape.Nodes {
			size := cmp.Or(c.opaque(at, n), p.size)
			if p.size != nil && *size != *p.size {
				c.Unsupported(at, "limits the length of a part twice")
			}
			p.size = size
		}
		for _, n := range p.shape.Some {
			if c.opaque(at, n) != nil {
				c.Unsupported(at, "limits the length of a part depending on other parts")
			}
		}
	}
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
	switch {
	case len(p.media) > 0:
		p.json = !slices.ContainsFunc(p.media, func(media string) bool { return !schema.IsJSONMedia(media) })
		p.streamed = !p.json && slices.ContainsFunc(p.media, func(media string) bool { return media != mediaText })
	case p.shape.IsBinary() || p.shape.Types == schema.KindAny:
		p.streamed = true
	case p.shape.Types&schema.KindObject != 0, p.shape.Types&schema.KindScalar == 0:
		p.json, p.media = true, []string{mediaJSON}
	default:
		p.media = []string{mediaText}
	}
}

// checkFields reports a schema without fields, and encodings for fields that it does not have.
func (c *compiler) checkFields(at *document.Node, s *schema.Shape) {
	if s.Types&schema.KindObject == 0 {
		c.Fail(at.Get("schema"), "does not allow an object")
	}
	for name, encoding := range at.Get("encoding").All() {
		if !s.Declares(name) {
			c.Fail(encoding, "is no property of the schema")
		}
	}
}
