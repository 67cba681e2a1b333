package validate

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
)

// parameter is a path, header or query parameter, or a header of a response.
type parameter struct {
	name      string // as the document spells it
	canonical string // of a header; "" for the others
	pointer   string
	required  bool
	node      *node
}

// parameters compiles those of a path item and those of an operation, which come first.
func (c *compiler) parameters(shared, own *document.Node) []*parameter {
	var parameters []*parameter
	for _, list := range []*document.Node{own, shared} {
		if list == nil {
			continue
		}
		for _, element := range list.Elements {
			source := c.resolve(element)
			if source == nil {
				continue
			}
			p := c.parameter(source, source.Get("name").Text, source.Get("in"))
			if !slices.ContainsFunc(parameters, func(q *parameter) bool { return q.pointer == p.pointer }) {
				parameters = append(parameters, p)
			}
		}
	}
	return parameters
}

// parameter compiles a parameter, or a header of a response, which has no in.
func (c *compiler) parameter(source *document.Node, name string, in *document.Node) *parameter {
	p := &parameter{
		name:      name,
		pointer:   "header:" + name,
		canonical: textproto.CanonicalMIMEHeaderKey(name),
		required:  isTrue(source.Get("required")),
	}
	style := "simple"
	if in != nil {
		p.pointer = in.Text + ":" + name
		switch in.Text {
		case "header":
			switch p.canonical {
			case "Accept", "Content-Type", "Authorization", "Host":
				c.fail(source.Get("name"), "is no header that a parameter can have: "+name)
			}
		case "query":
			style, p.canonical = "form", ""
		case "path":
			p.canonical = ""
		default:
			c.refuse(in, "is not path, header or query: "+in.Text)
		}
	}
	if own := source.Get("style"); own != nil && own.Text != style {
		c.refuse(own, "is not "+style)
	}
	for _, name := range []string{"content", "allowEmptyValue", "allowReserved"} {
		if member := source.Get(name); member != nil && member.Kind != 'f' {
			c.refuse(member, "is not supported")
		}
	}
	schema := source.Get("schema")
	if schema == nil {
		c.fail(source, "must have the member schema")
		return p
	}
	if p.node = c.schema(schema); p.node == nil {
		p.node = &node{}
	}
	switch p.node.types {
	case kindString, kindInteger, kindNumber, kindBoolean:
	default:
		c.refuse(schema, "must have one of the types string, integer, number, boolean")
	}
	return p
}

// checkHeader checks a header of a request or of a response.
func (w *walker) checkHeader(p *parameter, header http.Header) {
	switch values := header[p.canonical]; len(values) {
	case 0:
		w.checkAbsent(p)
	case 1:
		w.checkText(p, values[0])
	default:
		w.addParameter(p, "repeated", "must be given once")
	}
}

// checkQuery checks a query parameter. It looks at no other part of the query, which may be
// malformed.
func (w *walker) checkQuery(p *parameter, query string) {
	value, count := "", 0
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, text, _ := strings.Cut(pair, "=")
		if !isNamed(name, p.name) {
			continue
		}
		count++
		value = text
		if strings.ContainsAny(text, "%+;") {
			unescaped, err := url.QueryUnescape(text)
			if err != nil || strings.Contains(text, ";") { // net/url drops both
				w.addParameter(p, "escape", "must be percent-encoded")
				return
			}
			value = unescaped
		}
	}
	switch count {
	case 0:
		w.checkAbsent(p)
	case 1:
		w.checkText(p, value)
	default:
		w.addParameter(p, "repeated", "must be given once")
	}
}

// isNamed reports whether a name in a query is, unescaped, the wanted one.
func isNamed(escaped, wanted string) bool {
	if !strings.ContainsAny(escaped, "%+") {
		return escaped == wanted
	}
	name, err := url.QueryUnescape(escaped)
	return err == nil && name == wanted
}

func (w *walker) checkAbsent(p *parameter) {
	if p.required {
		w.addParameter(p, "required", "is required")
	}
}

// checkText checks the text of a parameter as the scalar that its schema makes of it.
func (w *walker) checkText(p *parameter, text string) {
	if p.required && text == "" {
		w.addParameter(p, "required", "must not be empty")
		return
	}
	if !utf8.ValidString(text) {
		w.addParameter(p, "type", "must be UTF-8")
		return
	}
	w.plain = append(w.plain[:0], text...)
	kind := jsontext.Kind('"')
	switch p.node.types {
	case kindBoolean:
		if text == "true" || text == "false" {
			kind = jsontext.Kind(text[0])
		}
	case kindInteger, kindNumber:
		var scratch [32]byte
		if _, ok := parseDecimal(scratch[:], w.plain); ok {
			kind = '0'
		}
	}
	w.root = p.pointer
	w.checkScalar(p.node, kind, w.plain)
	w.root = ""
}

func (w *walker) addParameter(p *parameter, keyword, detail string) {
	w.record(Violation{Pointer: p.pointer, Keyword: keyword, Detail: detail})
}
