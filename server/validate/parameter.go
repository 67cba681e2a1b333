package validate

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The places of a parameter.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
)

// parameter is a parameter of a request, a header of a response or a part, or a member of a form.
type parameter struct {
	serialization // by a style, unless it is json
	in            string
	canonical     string // name of a header
	pointer       string
	required      bool
	allowEmpty    bool // whether an empty text is right whatever the schema says
	reserved      bool // whether its text may have a semicolon
	json          bool // whether the text is JSON
	orJSON        bool // whether an object may be JSON in place of members with keys
	node          *node
	plain         bool     // whether it is a scalar of one type in a query or header
	fromEnd       int      // segments of the path behind it
	shape         *shape   // set when all schemas have been compiled
	as            []kinds  // what to read it as: kindString for all scalars, kindArray, kindObject
	foreign       []string // names of other parameters at the same place
}

// settle ends the compilation of a parameter, once all schemas have been compiled.
func (p *parameter) settle(s *shape) {
	p.shape = s
	for _, as := range []struct{ types, kind kinds }{{kindScalar, kindString}, {kindArray, kindArray}, {kindObject, kindObject}} {
		if p.shape.types&as.types != 0 {
			p.as = append(p.as, as.kind)
		}
	}
	if len(p.as) == 0 {
		p.as = []kinds{kindString}
	}
	if p.style == styleDeepObject { // the keys say what it is
		p.as = []kinds{kindObject}
	}
}

// takes reports whether a name in a query or a cookie is that of a member of an exploded object.
func (p *parameter) takes(name string) bool {
	others := p.shape.open && p.shape.types&^kindObject == 0
	return p.shape.members[name] != nil || others && !slices.Contains(p.foreign, name)
}

// readsMembers reports whether a parameter can be an object.
func (p *parameter) readsMembers() bool { return p.as[len(p.as)-1] == kindObject }

// readParameter is the JSON that a parameter stands for.
type readParameter struct {
	pointer string
	json    []byte
}

// checkRequest checks the parameters of a request.
func (w *walker) checkRequest(parameters []*parameter, r *http.Request) {
	var query []pair
	var parsed bool
	for _, p := range parameters {
		switch {
		case p.in == inHeader:
			w.checkHeader(p, r.Header)
		case p.in == inQuery && p.plain:
			w.checkQuery(p, r.URL.RawQuery)
		case p.in == inQuery:
			if !parsed {
				query, parsed = queryPairs(r.URL.RawQuery), true
			}
			if !p.reserved && hasSemicolon(p, query) {
				w.addFault(p, errEscape) // net/url drops the pair
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

// hasSemicolon reports whether a pair that may belong to p has one that is not percent-encoded.
func hasSemicolon(p *parameter, pairs []pair) bool {
	return slices.ContainsFunc(pairs, func(q pair) bool {
		return (q.name == p.name || strings.HasPrefix(q.name, p.name+"[") || p.explode && p.readsMembers() && p.takes(q.name)) &&
			strings.Contains(q.value, ";")
	})
}

// checkHeader checks a header of a request, of a response or of a part.
func (w *walker) checkHeader(p *parameter, header http.Header) {
	values := header[p.canonical]
	switch {
	case len(values) == 0:
		w.checkAbsent(p)
	case p.plain && len(values) == 1:
		w.checkText(p, values[0])
	case p.plain || p.json && len(values) > 1:
		w.addFault(p, errRepeated)
	default:
		w.checkStyled(p, func(as kinds) (spelled, error) {
			if as == kindString && len(values) > 1 {
				return spelled{}, errRepeated
			}
			return p.readText(strings.Join(values, ","), as) // as RFC 9110 joins the lines of a list
		})
	}
}

// checkQuery checks a scalar in a query. It looks at no other part of the query, which may be
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
			if err != nil || strings.Contains(text, ";") && !p.reserved { // net/url drops both
				w.addFault(p, errEscape)
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
		w.addFault(p, errRepeated)
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

// checkPairs checks a parameter in a query or in cookies that is not plain.
func (w *walker) checkPairs(p *parameter, pairs []pair) {
	if p.allowEmpty && slices.Contains(pairs, pair{name: p.name}) {
		w.parameters = append(w.parameters, readParameter{p.pointer, []byte("null")})
		return
	}
	present := false
	w.checkStyled(p, func(as kinds) (v spelled, err error) {
		v, present, err = p.readPairs(pairs, as, p.shape, p.takes)
		if !present {
			return v, errAbsent
		}
		return v, err
	})
}

// checkSegment checks a parameter of the path, which is a whole segment.
func (w *walker) checkSegment(p *parameter, path string) {
	for range p.fromEnd {
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	text := path[strings.LastIndexByte(path, '/')+1:]
	w.checkStyled(p, func(as kinds) (spelled, error) { return p.readText(text, as) })
}

func (w *walker) checkStyled(p *parameter, read func(as kinds) (spelled, error)) {
	text, err := w.readJSON(p, read)
	switch {
	case err == nil:
		w.checkJSON(p, text)
	case errors.Is(err, errAbsent):
		w.checkAbsent(p)
	default:
		w.addFault(p, err)
	}
}

// readJSON reads a parameter as what its schema allows. It returns the JSON of the first that
// matches; when none does, of the first that can be read.
func (w *walker) readJSON(p *parameter, read func(as kinds) (spelled, error)) (text []byte, err error) {
	if p.json {
		v, err := read(kindString)
		return []byte(v.text), err
	}
	for _, as := range p.as {
		v, unreadable := read(as)
		if unreadable == nil && !v.isUTF8() {
			unreadable = errUTF8
		}
		if unreadable == nil && p.required && v.kind == kindString && v.text == "" {
			return nil, errEmpty
		}
		if unreadable != nil {
			err = cmp.Or(err, unreadable)
			continue
		}
		candidate := p.shape.appendJSON(nil, v, w)
		if len(p.as) == 1 || w.matches(p.shape.nodes, candidate) {
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
func (w *walker) checkJSON(p *parameter, text []byte) {
	before := len(w.found)
	w.root, w.path = p.pointer, w.path[:0]
	w.walkBody(text, p.node)
	w.root = ""
	w.parameters = append(w.parameters, readParameter{p.pointer, text})
	if w.malformed != "" {
		w.malformed, w.found = "", w.found[:before]
		w.addFault(p, errNotJSON)
	}
}

func (w *walker) checkAbsent(p *parameter) {
	if p.required {
		w.addParameter(p, "required", "is required")
	}
}

// checkText checks the text of a plain parameter as the scalar that its schema makes of it.
func (w *walker) checkText(p *parameter, text string) {
	if p.required && text == "" {
		w.addParameter(p, "required", "must not be empty")
		return
	}
	if !utf8.ValidString(text) {
		w.addFault(p, errUTF8)
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

// addFault reports why a parameter cannot be read.
func (w *walker) addFault(p *parameter, err error) {
	if f := (*fault)(nil); errors.As(err, &f) {
		w.addParameter(p, f.keyword, f.detail)
	}
}

func (w *walker) addParameter(p *parameter, keyword, detail string) {
	w.record(Violation{Pointer: p.pointer, Keyword: keyword, Detail: detail})
}
