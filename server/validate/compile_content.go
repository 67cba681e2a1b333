package validate

import (
	"cmp"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

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
		one := c.content(source, m)
		if slices.ContainsFunc(all, func(other *content) bool { return one.media == other.media && maps.Equal(one.params, other.params) }) {
			c.Unsupported(source.Key(m), "differs from another media type in its case or charset only")
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *content) int {
		return cmp.Or(cmp.Compare(strings.Count(a.media, "*"), strings.Count(b.media, "*")),
			cmp.Compare(a.media, b.media), cmp.Compare(len(b.params), len(a.params)))
	})
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
	result.node = c.mediaType(at, media)
	if item := cmp.Or(at.Get("itemSchema"), at.Get("x-itemSchema")); item != nil { // OpenAPI 3.1 has only the extension
		c.stream(result, at, item)
	}
	switch {
	case result.format != 0: // a stream
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
		for _, encoding := range at.Get("encoding").All() {
			c.headers(encoding.Get("headers")) // now, so that their schemas are compiled with all others
		}
		c.WhenCompiled(func() { c.multipart(at, result.multipart, schema.ShapeOf(result.node)) })
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
func (c *compiler) mediaType(at *document.Node, media string) *schema.Node {
	if encoding := at.Get("encoding"); encoding != nil && media != mediaForm && media != mediaMultipart {
		c.Unsupported(encoding, "is for forms and "+mediaMultipart)
	}
	switch of := at.Get("schema"); {
	case of != nil:
		return c.Schema(of)
	case media == mediaText:
		return schema.NewText()
	case media == mediaForm: // each field is a string
		return schema.NewTexts()
	}
	return nil
}

// opaque returns the limits of a body whose content is not checked. It reports a schema that constrains anything else
// as unsupported.
func (c *compiler) opaque(at *document.Node, n *schema.Node) *schema.Size {
	size, only := n.Bytes()
	if !only {
		c.Unsupported(at, "says more than the length of a body that is not looked into")
	}
	return size
}

// stream compiles the schema of each item of a stream.
func (c *compiler) stream(result *content, at, item *document.Node) {
	if result.format, _ = stream.FormatOf(result.media); result.format == 0 {
		c.Unsupported(item, "is for sequences, such as text/event-stream or application/jsonl")
		return
	}
	if whole := at.Get("schema"); whole != nil && at.Get("itemSchema") != nil {
		c.Unsupported(whole, "is beside itemSchema")
	}
	if result.format == stream.Events {
		result.node = c.EventSchema(item)
	} else {
		result.node = c.Schema(item)
	}
}
