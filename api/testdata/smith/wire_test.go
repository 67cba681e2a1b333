package smith

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/gen"
)

var inBraces = regexp.MustCompile(`\{([^}]+)\}`)

// send sends a valid request without the client, and compares what arrives.
func (e *exchange) send(o operation, s sample) {
	e.Helper()
	expected, ok := e.choose(o, false)
	if !ok {
		return
	}
	e.service.response = expected.response
	status, media, problem := e.do(o, s)
	if media != concrete(expected.media) && o.method != http.MethodHead {
		e.Errorf("%s: the response in %s is in %s", o.name, expected.media, media)
	}
	if status != expected.status {
		e.Errorf("%s: %s %s has the status %d, want %d: %s", o.name, encoded(s.parameters), encoded(s.body), status, expected.status, encoded(problem))
		return
	}
	e.counts["sent as written here"]++
	e.arrives(o, s)
}

// sendSpoilt sends a request with an invalid parameter or body, and compares the place that the response shows with
// those of the other validator.
func (e *exchange) sendSpoilt(o operation, s sample) {
	e.Helper()
	s.parameters = maps.Clone(s.parameters)
	prefix, places := "", map[string]bool{}
	parameters := e.parameters(o)
	if len(parameters) > 0 && (s.media == "" || e.IntN(2) == 0) {
		p := pick(e, parameters...)
		prefix = p.at
		if value, err := e.spoilParameter(p, s.parameters[p.at]); value == nil {
			delete(s.parameters, p.at)
			if !p.required || p.in == "path" {
				return
			}
			places[""] = true
		} else {
			s.parameters[p.at] = value
			collect(err, places)
		}
		e.count(places, "refused for a parameter in "+p.in)
	} else if content, _ := e.content(o); s.media != "" {
		var err error
		s.body, err = e.spoilBody(s, content[s.media])
		collect(err, places)
		e.count(places, "refused for a body in "+s.media)
	}
	if len(places) == 0 {
		return // the request is valid
	}
	status, _, problem := e.do(o, s)
	shown := problem.Errors
	if status != http.StatusBadRequest || o.method != http.MethodHead && shown == nil {
		e.Errorf("%s: %s %s has the status %d, invalid in %s%v", o.name, encoded(s.parameters), encoded(s.body), status, prefix, places)
		return
	}
	if o.method == http.MethodHead || slices.ContainsFunc(*shown, func(v gen.Violation) bool { return shows(v.Pointer, prefix, places) }) {
		return
	}
	e.Errorf("%s: %s %s is refused at %s, want one of %s%v", o.name, encoded(s.parameters), encoded(s.body), encoded(shown), prefix, places)
}

func (e *exchange) count(places map[string]bool, kind string) {
	if len(places) > 0 {
		e.counts[kind]++
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
func (e *exchange) strange() any {
	return pick[any](e, "other", "3", "-1", "0.25", "false", "2026-02-30", "a long text that no limit allows")
}

// spoilParameter returns another value, or nil to leave it out, and why it is invalid.
func (e *exchange) spoilParameter(p parameter, value any) (any, error) {
	e.Helper()
	if value == nil || e.IntN(6) == 0 {
		return nil, nil
	}
	if p.style == "" {
		value = e.spoil(value)
		return value, e.validate(p.schema, inRequest, value)
	}
	value = e.spoilText(value)
	if !p.fits(value) {
		return value, nil
	}
	return value, e.validate(p.schema, inRequest, e.interpret(p.schema, value))
}

// spoilText returns another value for one that is sent as text.
func (e *exchange) spoilText(value any) any {
	switch value := value.(type) {
	case []any:
		if e.IntN(3) == 0 {
			return append(slices.Clone(value), "a", "b", "c", "d")
		}
		changed := slices.Clone(value)
		changed[e.IntN(len(changed))] = e.strange()
		return changed
	case object:
		changed := maps.Clone(value)
		if names := slices.Sorted(maps.Keys(changed)); len(names) > 1 && e.IntN(3) == 0 {
			delete(changed, pick(e, names...))
		} else if e.IntN(3) == 0 {
			changed["more"] = e.strange()
		} else {
			changed[pick(e, append(names, "more")...)] = e.strange()
		}
		return changed
	}
	return e.strange()
}

// spoilBody returns another body, and why it is invalid.
func (e *exchange) spoilBody(s sample, described any) (any, error) {
	e.Helper()
	schema := e.schemaOf(s.media, described)
	switch fields, _ := s.body.(object); {
	case isJSON(s.media):
		spoilt := e.spoil(s.body)
		return spoilt, e.validate(schema, inRequest, spoilt)
	case s.media == "text/plain":
		spoilt := e.strange()
		return spoilt, e.validate(schema, inRequest, e.interpret(schema, spoilt))
	case s.media == urlencoded || s.media == formData:
		spoilt, read := maps.Clone(fields), object{}
		if len(spoilt) == 0 {
			return spoilt, nil
		}
		name := pick(e, slices.Sorted(maps.Keys(spoilt))...)
		property := e.resolve(schema)["properties"].(object)[name]
		switch e.fieldKind(name, described) {
		case "JSON":
			spoilt[name] = e.spoil(spoilt[name])
		case "file":
			delete(spoilt, name)
		case "list":
			if e.kind(e.resolve(property)["items"]) == "object" {
				spoilt[name] = append(slices.Clone(list(spoilt[name])), "no object")
				break
			}
			fallthrough
		default:
			if spoilt[name] = e.spoilText(spoilt[name]); e.IntN(4) == 0 {
				delete(spoilt, name)
			}
		}
		for name, value := range spoilt {
			read[name] = value
			if e.fieldKind(name, described) != "JSON" {
				read[name] = e.interpret(e.resolve(schema)["properties"].(object)[name], value)
			}
		}
		if !e.formFits(spoilt, described) || len(spoilt) == 0 {
			return spoilt, nil
		}
		return spoilt, e.validate(schema, inRequest, read)
	}
	return s.body, nil
}

// do sends a request.
func (e *exchange) do(o operation, s sample) (status int, media string, problem gen.Problem) {
	e.Helper()
	path, header := o.path, http.Header{}
	var query, cookies []string
	for _, p := range e.parameters(o) {
		value, ok := s.parameters[p.at]
		if !ok {
			continue
		}
		switch pairs := p.pairs(value); p.in {
		case "path":
			path = strings.Replace(path, "{"+p.name+"}", pairs[0], 1)
		case "query":
			query = append(query, pairs...)
		case "header":
			header.Set(p.name, pairs[0])
		case "cookie":
			cookies = append(cookies, pairs...)
		}
	}
	target := e.url + path
	if len(query) > 0 {
		target += "?" + strings.Join(query, "&")
	}
	if len(cookies) > 0 {
		header.Set("Cookie", strings.Join(cookies, "; "))
	}
	var body io.Reader
	if s.media != "" {
		text, media := e.body(o, s)
		body = strings.NewReader(text)
		header.Set("Content-Type", media)
	}
	request, err := http.NewRequestWithContext(e.Context(), o.method, target, body)
	check(e.T, err)
	request.Header = header
	response, err := transport.RoundTrip(request)
	check(e.T, err)
	defer response.Body.Close()
	media = response.Header.Get("Content-Type")
	if strings.Contains(media, "problem+json") {
		_ = json.NewDecoder(response.Body).Decode(&problem)
	} else {
		_, _ = io.Copy(io.Discard, response.Body)
	}
	return response.StatusCode, media, problem
}

var transport = &http.Transport{}

// fits reports whether a value has a text that stands for no other value.
func (p parameter) fits(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case []any:
		return len(value) > 0 && !slices.ContainsFunc(value, func(one any) bool {
			text := textOf(one)
			return text == "" || (!p.explode || p.in == "header") && strings.Contains(text, ",") || strings.Trim(text, " ") != text || !p.fits(one)
		})
	case object:
		return len(value) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(value)), func(one any) bool { return !p.fits(one) })
	}
	text := textOf(value)
	if p.required && text == "" { // is refused as one that is missing
		return false
	}
	switch p.in {
	case "path":
		return strings.Trim(text, ".") != "" || len(text) > 2
	case "header":
		return strings.Trim(text, " ") == text
	case "cookie":
		return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\";\\", r) })
	}
	return true
}

// pairs returns the text of a value, or its pairs of a name and a text.
func (p parameter) pairs(value any) []string {
	escape := url.QueryEscape
	switch {
	case p.in == "path":
		escape = func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	case p.in == "header" || p.in == "cookie" && p.style != "":
		escape = func(text string) string { return text }
	}
	name := url.QueryEscape(p.name) + "="
	if p.in == "path" || p.in == "header" {
		name = ""
	}
	var texts []string
	if p.style == "" {
		return []string{name + escape(encoded(value))}
	}
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			texts = append(texts, escape(textOf(one)))
		}
		if !p.explode || name == "" {
			return []string{name + strings.Join(texts, ",")}
		}
		for i := range texts {
			texts[i] = name + texts[i]
		}
		return texts
	case object:
		for _, member := range slices.Sorted(maps.Keys(value)) {
			texts = append(texts, url.QueryEscape(p.name+"["+member+"]")+"="+escape(textOf(value[member])))
		}
		return texts
	}
	return []string{name + escape(textOf(value))}
}

// body returns the text of a body and its media type.
func (e *exchange) body(o operation, s sample) (text, media string) {
	content, _ := e.content(o)
	fields, _ := s.body.(object)
	switch {
	case isJSON(s.media):
		return encoded(s.body), s.media
	case s.media == urlencoded:
		var pairs []string
		for _, part := range e.fields(fields, content[urlencoded]) {
			text := url.QueryEscape(part.Text)
			if e.encodingOf(part.Name, content[urlencoded])["explode"] == false {
				text = strings.ReplaceAll(text, "%2C", ",")
			}
			pairs = append(pairs, url.QueryEscape(part.Name)+"="+text)
		}
		return strings.Join(pairs, "&"), urlencoded
	case s.media == formData:
		return e.multipart(fields, content[formData])
	}
	return textOf(s.body), concrete(s.media)
}

// concrete returns a media type of a range.
func concrete(media string) string {
	media = strings.Replace(media, "*/*", "video/*", 1)
	return strings.Replace(media, "/*", "/mp4", 1)
}

// part is a field of a form.
type part struct{ Name, Text, Type, File string }

// encodingOf returns the encoding of a field.
func (e *exchange) encodingOf(name string, described any) object {
	all, _ := e.resolve(described)["encoding"].(object)
	encoding, _ := all[name].(object)
	return encoding
}

// fieldKind returns how a field is written: as scalar, list, JSON or file.
func (e *exchange) fieldKind(name string, described any) string {
	schema := e.resolve(e.resolve(e.resolve(e.resolve(described)["schema"])["properties"])[name])
	of := schema
	kind := e.kind(schema)
	if kind == "array" {
		of = e.resolve(schema["items"])
	}
	switch {
	case kind == "object" || e.encodingOf(name, described)["contentType"] == "application/json":
		return "JSON"
	case of["format"] == "binary":
		return "file"
	case kind == "array":
		return "list"
	}
	return "scalar"
}

// fields returns the fields of a form.
func (e *exchange) fields(values object, described any) []part {
	all := []part{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		encoding, kind := e.encodingOf(name, described), e.fieldKind(name, described)
		elements, isList := values[name].([]any)
		if !isList || kind == "JSON" {
			elements = []any{values[name]}
		}
		if encoding["explode"] == false && isList {
			var texts []string
			for _, one := range elements {
				texts = append(texts, textOf(one))
			}
			all = append(all, part{Name: name, Text: strings.Join(texts, ",")})
			continue
		}
		for _, one := range elements {
			p := part{Name: name, Text: textOf(one)}
			_, isObject := one.(object)
			switch {
			case kind == "JSON" || isObject:
				p.Text, p.Type = encoded(one), "application/json"
			case kind == "file":
				p.Type, p.File = "application/octet-stream", "a.bin"
				if types, ok := encoding["contentType"].(string); ok {
					first, _, _ := strings.Cut(types, ",")
					p.Type = strings.Replace(first, "*", "png", 1)
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// formFits reports whether the fields of a form have texts that stand for no other values.
func (e *exchange) formFits(values object, described any) bool {
	for name, value := range values {
		explode := e.encodingOf(name, described)["explode"] != false
		switch e.fieldKind(name, described) {
		case "JSON":
		case "list":
			if slices.ContainsFunc(list(value), func(one any) bool { _, isObject := one.(object); return isObject }) {
				break
			}
			fallthrough
		default:
			if !(parameter{in: "form", explode: explode}).fits(value) {
				return false
			}
		}
	}
	return true
}

// multipart returns a multipart body and its media type.
func (e *exchange) multipart(values object, described any) (text, media string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range e.fields(values, described) {
		disposition := `form-data; name="` + p.Name + `"`
		if p.File != "" {
			disposition += `; filename="` + p.File + `"`
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.Type != "" {
			header.Set("Content-Type", p.Type)
		}
		into, err := w.CreatePart(header)
		check(e.T, err)
		_, err = io.WriteString(into, p.Text)
		check(e.T, err)
	}
	check(e.T, w.Close())
	return b.String(), w.FormDataContentType()
}

// parts reads a multipart body.
func parts(r *multipart.Reader) ([]part, error) {
	all := []part{}
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return nil, err
		}
		all = append(all, part{Name: p.FormName(), Text: string(text), Type: p.Header.Get("Content-Type"), File: p.FileName()})
	}
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

// interpret returns what a value that is sent as text stands for.
func (e *exchange) interpret(schema, value any) any {
	s := e.resolve(schema)
	switch value := value.(type) {
	case []any:
		all := []any{}
		for _, one := range value {
			all = append(all, e.interpret(s["items"], one))
		}
		return all
	case object:
		all, properties := object{}, e.resolve(s["properties"])
		for name, one := range value {
			member, ok := properties[name]
			if !ok {
				member = s["additionalProperties"]
			}
			all[name] = e.interpret(member, one)
		}
		return all
	}
	text := textOf(value)
	switch kind := e.kind(schema); {
	case (kind == "integer" || kind == "number") && isNumber.MatchString(text):
		return json.Number(text)
	case kind == "boolean" && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}
