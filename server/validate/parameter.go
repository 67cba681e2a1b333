package validate

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// parameter is a header or query parameter, or a header of a response.
type parameter struct {
	name      string // as the document spells it
	canonical string // of a header; "" for a query parameter
	pointer   string
	required  bool
	node      *node
}

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
	return parameters
}

func (c *compiler) parameter(at string, source *openapi3.Parameter) *parameter {
	rest := *source
	rest.Name, rest.In, rest.Description, rest.Deprecated = "", "", "", false
	rest.Required, rest.Schema, rest.Example, rest.Examples = false, nil, nil, nil
	rest.Explode = nil // makes no difference to a scalar
	p := &parameter{
		name:     source.Name,
		pointer:  source.In + ":" + source.Name,
		required: source.Required,
	}
	switch source.In {
	case openapi3.ParameterInHeader:
		p.canonical = textproto.CanonicalMIMEHeaderKey(source.Name)
		switch p.canonical {
		case "Accept", "Content-Type", "Authorization", "Host":
			c.fail(at+"/name", "is no header that a parameter can have: %s", source.Name)
		}
		if rest.Style == openapi3.SerializationSimple {
			rest.Style = ""
		}
	case openapi3.ParameterInQuery:
		if rest.Style == openapi3.SerializationForm {
			rest.Style = ""
		}
	default:
		c.fail(at+"/in", "is not header or query: %s", source.In)
	}
	c.refuseRest(at, &rest, source.Extensions)
	if source.Schema == nil {
		c.fail(at+"/schema", "is missing")
		return p
	}
	p.node = c.schema(at+"/schema", source.Schema)
	if p.node != nil {
		switch p.node.types {
		case kindString, kindInteger, kindNumber, kindBoolean:
		default:
			c.fail(at+"/schema/type", "is not one of string, integer, number, boolean")
		}
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
	w.root, w.path, w.inForce = p.pointer, w.path[:0], w.inForce[:0]
	w.force(0, p.node)
	w.expand(0, kind)
	w.scalar(0, kind, w.plain)
	w.root = ""
}

func (w *walker) addParameter(p *parameter, keyword, detail string) {
	w.found.add(Violation{Pointer: p.pointer, Keyword: keyword, Detail: detail})
}
