package smith

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

var inBraces = regexp.MustCompile(`\{([^}]+)\}`)

// sendSpoilt sends a request with an invalid parameter or body, and compares the place that the response shows with
// those of the other validator.
func (e *exchange) sendSpoilt(o operation, s sample) {
	place := "" // of the parameter, or "" for the body
	var places map[string]bool
	e.change = func(r *http.Request) {
		all := e.parameters(o)
		if len(all) == 0 || s.media != "" && e.IntN(2) == 0 {
			places = e.spoilBody(o, s, r)
			return
		}
		p := pick(e, all...)
		place, places = p.at, e.spoilParameter(o, p, s.parameters[p.at], r)
	}
	_, err := e.invoke(o, s)
	if len(places) == 0 {
		return // the request is valid, or refused by the client
	}
	in, _, _ := strings.Cut(place, ":")
	e.counts["refused for "+cmp.Or(in, s.media)]++
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.StatusCode != http.StatusBadRequest {
		e.Errorf("%s: %s %s gives the error %v, invalid in %s%v", o.name, encoded(s.parameters), encoded(s.body), err, place, places)
		return
	}
	if shown := refused.Problem.Errors; o.method != http.MethodHead &&
		(shown == nil || !slices.ContainsFunc(*shown, func(v gen.Violation) bool { return shows(v.Pointer, place, places) })) {
		e.Errorf("%s: %s %s is refused at %s, want one of %s%v", o.name, encoded(s.parameters), encoded(s.body), encoded(shown), place, places)
	}
}

// shows reports whether a pointer, in which the members that the document does not name are *, leads to one of the
// places or to a member of it, which is missing.
func shows(pointer, prefix string, places map[string]bool) bool {
	pointer, ok := strings.CutPrefix(pointer, prefix)
	parent := pointer[:max(strings.LastIndex(pointer, "/"), 0)]
	for place := range places {
		for _, pointer := range []string{pointer, parent} {
			if ok && slices.EqualFunc(strings.Split(pointer, "/"), strings.Split(place, "/"), func(a, b string) bool { return a == b || a == "*" }) {
				return true
			}
		}
	}
	return false
}

// invalid returns the places in which the other validator finds a value invalid.
func (e *exchange) invalid(schema, value any) map[string]bool {
	places := map[string]bool{}
	collect(e.validate(schema, inRequest, value), places)
	return places
}

func collect(err error, places map[string]bool) {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return
	}
	var b strings.Builder
	for _, token := range invalid.InstanceLocation {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	places[b.String()] = true
	for _, cause := range invalid.Causes {
		collect(cause, places)
	}
}

// strange returns a scalar that is unlikely to fit.
func (e *exchange) strange() string {
	return pick(e, "other", "3", "-1", "0.25", "false", "2026-02-30", "a long text that no limit allows")
}

// spoilParameter changes a parameter of a request, or leaves it out, and returns where it is invalid.
func (e *exchange) spoilParameter(o operation, p parameter, value any, r *http.Request) map[string]bool {
	kind := e.kind(p.schema)
	switch {
	case p.style == "" && value != nil:
		value = e.spoil(value)
		p.set(o, r, encoded(value))
	case p.required && p.in != "path" && e.IntN(6) == 0:
		p.set(o, r)
		return map[string]bool{"": true}
	case p.style == "" || p.style == "deepObject":
		return nil
	case kind == "array":
		texts := []string{"a", e.strange(), "c", "d"}[:1+e.IntN(4)]
		p.set(o, r, texts...)
		all := []any{}
		for _, text := range texts {
			all = append(all, e.interpret(e.resolve(p.schema)["items"], text))
		}
		value = all
	default:
		text := e.strange()
		p.set(o, r, text)
		value = e.interpret(p.schema, text)
	}
	return e.invalid(p.schema, value)
}

// set sets the texts of a parameter in a request.
func (p parameter) set(o operation, r *http.Request, texts ...string) {
	escaped := make([]string, len(texts))
	for i, text := range texts {
		escaped[i] = text
		if p.in == "path" || p.in == "query" || p.style == "" && p.in == "cookie" {
			escaped[i] = strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
		}
	}
	joined := strings.Join(escaped, ",")
	if !p.explode && len(texts) > 0 {
		escaped = []string{joined}
	}
	switch p.in {
	case "path":
		sent := strings.Split(r.URL.EscapedPath(), "/")
		for i, segment := range strings.Split(o.path, "/") {
			if in := "{" + p.name + "}"; strings.Contains(segment, in) {
				sent[i] = strings.Replace(segment, in, joined, 1)
			}
		}
		r.URL.RawPath = strings.Join(sent, "/")
		r.URL.Path, _ = url.PathUnescape(r.URL.RawPath)
	case "query":
		r.URL.RawQuery = replaced(r.URL.RawQuery, "&", p.name, escaped)
	case "cookie":
		r.Header.Set("Cookie", replaced(r.Header.Get("Cookie"), "; ", p.name, escaped))
	case "header":
		if r.Header.Del(p.name); len(texts) > 0 {
			r.Header.Set(p.name, joined)
		}
	}
}

// replaced returns pairs of names and texts with other texts for a name.
func replaced(pairs, separator, name string, texts []string) string {
	all := slices.DeleteFunc(strings.Split(pairs, separator), func(pair string) bool {
		sent, _, _ := strings.Cut(pair, "=")
		sent, _ = url.QueryUnescape(sent)
		return sent == name || strings.HasPrefix(sent, name+"[") || pair == ""
	})
	for _, text := range texts {
		all = append(all, url.QueryEscape(name)+"="+text)
	}
	return strings.Join(all, separator)
}

// spoilBody changes the body of a request, and returns where it is invalid.
func (e *exchange) spoilBody(o operation, s sample, r *http.Request) map[string]bool {
	content, _ := e.content(o)
	schema := e.schemaOf(s.media, content[s.media])
	value, text := any(nil), e.strange()
	switch {
	case isJSON(s.media):
		value = e.spoil(s.body)
		text = encoded(value)
	case s.media == "text/plain":
		value = e.interpret(schema, text)
	case s.media == urlencoded && len(s.body.(object)) > 0:
		fields := maps.Clone(s.body.(object))
		name := pick(e, slices.Sorted(maps.Keys(fields))...)
		if e.fieldKind(name, content[urlencoded]) != "scalar" {
			return nil
		}
		fields[name] = e.interpret(e.resolve(schema)["properties"].(object)[name], text)
		sent := harness.Try(io.ReadAll(r.Body))(e)
		value, text = fields, replaced(string(sent), "&", name, []string{url.QueryEscape(text)})
	default:
		return nil
	}
	setBody(r, concrete(s.media), text)
	return e.invalid(schema, value)
}

// concrete returns a media type of a range.
func concrete(media string) string {
	media = strings.Replace(media, "*/*", "video/*", 1)
	return strings.Replace(media, "/*", "/mp4", 1)
}

// kind returns the type of the values of a schema of a parameter or field.
func (e *exchange) kind(schema any) string {
	s := e.resolve(schema)
	if kind, ok := s["type"].(string); ok {
		return kind
	}
	for _, value := range append(list(s["enum"]), s["const"]) {
		switch value.(type) {
		case string:
			return "string"
		case json.Number:
			return "integer"
		}
	}
	return ""
}

var isNumber = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$`)

// interpret returns what a text stands for.
func (e *exchange) interpret(schema any, text string) any {
	switch kind := e.kind(schema); {
	case (kind == "integer" || kind == "number") && isNumber.MatchString(text):
		return json.Number(text)
	case kind == "boolean" && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}
