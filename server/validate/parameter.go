package validate

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// The locations of a parameter.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
)

// parameter is a parameter of a request, a header of a response or part, or a field of a form.
type parameter struct {
	serialization // used unless json is set
	in            string
	canonical     string // canonical header name
	pointer       string
	required      bool
	allowEmpty    bool // whether an empty text is valid regardless of the schema
	reserved      bool // whether the text may contain semicolons
	json          bool // whether the text is JSON
	elementsJSON  bool // whether it is a field of a form with a text in JSON for each element
	node          *schema.Node
	plain         bool // whether it is a scalar of a single type in a query or header
	segment       pathtemplate.Segment
	nth, fromEnd  int            // number of parameters before it in its segment, and of path segments after that
	shape         *schema.Shape  // set after all schemas have been compiled
	open          bool           // whether it is an object that is meant to have members that are not declared
	as            []schema.Kinds // the forms to decode the text as, in this order: KindString for all scalars, KindArray, KindObject
	siblings      []*parameter   // the other parameters at the same location, and the API keys there
}

// setShape completes a parameter after all schemas have been compiled.
func (p *parameter) setShape(s *schema.Shape) {
	p.shape = s
	p.open = s.Types&^schema.KindObject == 0 && s.IsOpen()
	for _, as := range []struct{ types, kind schema.Kinds }{{schema.KindScalar, schema.KindString}, {schema.KindArray, schema.KindArray}, {schema.KindObject, schema.KindObject}} {
		if p.shape.Types&as.types != 0 {
			p.as = append(p.as, as.kind)
		}
	}
	if len(p.as) == 0 {
		p.as = []schema.Kinds{schema.KindString}
	}
	if p.style == styleDeepObject { // the keys determine the type
		p.as = []schema.Kinds{schema.KindObject}
	}
}

// acceptsMember reports whether a name in a query, cookie or form is a member of the exploded object p.
func (p *parameter) acceptsMember(name string) bool {
	return p.shape.Declares(name) || p.open && !slices.ContainsFunc(p.siblings, func(q *parameter) bool { return q.declares(name) })
}

// declares reports whether the document gives a name in a query, cookie or form to p.
func (p *parameter) declares(name string) bool {
	keys, named := strings.CutPrefix(name, p.name)
	return named && (keys == "" || keys[0] == '[' && p.style == styleDeepObject) || p.readsMembers() && p.shape.Declares(name)
}

// readsMembers reports whether the parameter can be an exploded object, whose members are beside other parameters.
func (p *parameter) readsMembers() bool {
	return p.explode && p.style != styleDeepObject && p.as[len(p.as)-1] == schema.KindObject
}

// takes reports whether a name in a query, cookie or form belongs to p.
func (p *parameter) takes(name string) bool {
	return p.declares(name) || p.readsMembers() && p.acceptsMember(name)
}

// readParameter is a decoded parameter.
type readParameter struct {
	pointer string
	json    []byte
}

// checkRequest checks the parameters of a request.
func (w *checker) checkRequest(parameters []*parameter, r *http.Request) {
	var query []pair
	for _, p := range parameters {
		switch {
		case p.in == inHeader && p.canonical == "Host": // net/http removes it from the header
			w.checkHeader(p, http.Header{"Host": {r.Host}})
		case p.in == inHeader:
			w.checkHeader(p, r.Header)
		case p.in == inQuery && p.plain:
			w.checkQuery(p, r.URL.RawQuery)
		case p.in == inQuery:
			if query == nil {
				query = queryPairs(r.URL.RawQuery)
			}
			if !p.reserved && hasSemicolon(p, query) {
				w.addDecodeError(p, errEscape) // net/url ignores the pair
				continue
			}
			w.checkPairs(p, query)
		case p.in == inCookie:
			var pairs []pair
			for _, cookie := range r.Cookies() {
				pairs = append(pairs, pair{cookie.Name, cookie.Value})
			}
			w.checkPairs(p, pairs)
		default:
			w.checkSegment(p, r.URL.EscapedPath())
		}
	}
}

// hasSemicolon reports whether a pair that may belong to p contains an unescaped semicolon.
func hasSemicolon(p *parameter, pairs []pair) bool {
	return slices.ContainsFunc(pairs, func(q pair) bool { return strings.Contains(q.value, ";") && p.takes(q.name) })
}

// checkHeader checks a header of a request, response or part.
func (w *checker) checkHeader(p *parameter, header http.Header) {
	values := header[p.canonical]
	switch {
	case len(values) == 0:
		w.addDecodeError(p, errAbsent)
	case p.plain && len(values) == 1:
		w.checkText(p, values[0])
	case p.plain || p.json && len(values) > 1:
		w.addDecodeError(p, errRepeated)
	default:
		w.checkStyled(p, func(as schema.Kinds) (schema.TextValue, error) {
			if as == schema.KindString && len(values) > 1 {
				return schema.TextValue{}, errRepeated
			}
			return p.readText(strings.Join(values, ","), as) // as RFC 9110 combines field lines
		})
	}
}

// checkQuery checks a scalar in a query. It ignores all other parts of the query, even malformed ones.
func (w *checker) checkQuery(p *parameter, query string) {
	value, count := "", 0
	for query != "" {
		q, rest, ok := cutPair(query)
		if query = rest; !ok || q.name != p.name {
			continue
		}
		count++
		var err error
		if value, err = p.unescaped(q.value); err != nil || strings.Contains(q.value, ";") { // net/url ignores both
			w.addDecodeError(p, errEscape)
			return
		}
	}
	switch count {
	case 0:
		w.addDecodeError(p, errAbsent)
	case 1:
		w.checkText(p, value)
	default:
		w.addDecodeError(p, errRepeated)
	}
}

// checkPairs checks a parameter in a query or cookie that is not plain.
func (w *checker) checkPairs(p *parameter, pairs []pair) {
	if p.allowEmpty && slices.Contains(pairs, pair{name: p.name}) {
		text := []byte(`""`)
		if p.json || !w.Accepts([]*schema.Node{p.node}, text) {
			text = []byte("null")
		}
		w.parameters = append(w.parameters, readParameter{p.pointer, text})
		return
	}
	w.checkStyled(p, func(as schema.Kinds) (schema.TextValue, error) { return p.readPairs(pairs, as) })
}

// checkSegment checks a path parameter. It finds its segment from the end, because the path may have a prefix.
func (w *checker) checkSegment(p *parameter, path string) {
	for range p.fromEnd {
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	text := ""
	var scratch [4]string
	if values, ok := p.segment.Match(scratch[:0], path[strings.LastIndexByte(path, '/')+1:]); ok {
		text = values[p.nth]
	}
	w.checkStyled(p, func(as schema.Kinds) (schema.TextValue, error) { return p.readText(text, as) })
}

func (w *checker) checkStyled(p *parameter, read func(as schema.Kinds) (schema.TextValue, error)) {
	if text, err := w.readJSON(p, read); err != nil {
		w.addDecodeError(p, err)
	} else {
		w.checkJSON(p, text)
	}
}

// readJSON decodes a parameter in each form that its schema allows. It returns the JSON of the first form
// that matches the schema. If none matches, it returns the first form that can be decoded.
func (w *checker) readJSON(p *parameter, read func(as schema.Kinds) (schema.TextValue, error)) (text []byte, err error) {
	if p.json {
		v, err := read(schema.KindString)
		return []byte(v.Text), err
	}
	for _, as := range p.as {
		v, unreadable := read(as)
		if unreadable == nil && !v.IsUTF8() {
			unreadable = errUTF8
		}
		if unreadable == nil && p.required && v.Kind == schema.KindString && v.Text == "" {
			return nil, errEmpty
		}
		if unreadable != nil {
			err = cmp.Or(err, unreadable)
			continue
		}
		candidate := p.shape.AppendJSON(nil, v, &w.Walker)
		if len(p.as) == 1 || p.shape.Accepts(candidate, &w.Walker) {
			return candidate, nil
		}
		if text == nil {
			text = candidate
		}
	}
	if text != nil {
		return text, nil
	}
	return nil, err
}

// checkJSON checks the JSON of a parameter.
func (w *checker) checkJSON(p *parameter, text []byte) {
	before := len(w.Found)
	w.Root = p.pointer
	w.Check(text, p.node)
	w.Root = ""
	w.parameters = append(w.parameters, readParameter{p.pointer, text})
	if w.Malformed != "" {
		w.Malformed, w.Found = "", w.Found[:before]
		w.addDecodeError(p, errNotJSON)
	}
}

// checkText checks the text of a plain parameter as a scalar of the type that the schema allows.
func (w *checker) checkText(p *parameter, text string) {
	if p.required && text == "" {
		w.addDecodeError(p, errEmpty)
		return
	}
	if !utf8.ValidString(text) {
		w.addDecodeError(p, errUTF8)
		return
	}
	w.Root = p.pointer
	w.CheckText(text, p.node)
	w.Root = ""
}

// addDecodeError reports why a parameter cannot be decoded, unless it may be absent and is.
func (w *checker) addDecodeError(p *parameter, err error) {
	if errors.Is(err, errAbsent) && !p.required {
		return
	}
	if e := (*decodeError)(nil); errors.As(err, &e) {
		w.Record(schema.Violation{Pointer: p.pointer, Keyword: e.keyword, Detail: e.detail})
	}
}
