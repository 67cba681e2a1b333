package smith

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"

	"github.com/avatarstudio/avatarstudio/client"
)

// sample is a request.
type sample struct {
	parameters object // by place and name, such as query:limit
	media      string // of the body, or "" if it has none
	body       any
	own        string // the media type that the client sends, if it is another
	given      any    // the body in it
	place      string // that the client names if it refuses the request
}

const (
	urlencoded = "application/x-www-form-urlencoded"
	formData   = "multipart/form-data"
)

// parameter is a parameter that the document describes.
type parameter struct {
	in, name, at string
	style        string // simple, form, deepObject, or "" for JSON
	explode      bool
	required     bool
	schema       any
}

func (e *exchange) parameters(o operation) (all []parameter) {
	for _, described := range list(o.described["parameters"]) {
		d := e.resolve(described)
		p := parameter{in: d["in"].(string), name: d["name"].(string), required: d["required"] == true, schema: d["schema"]}
		p.at = p.in + ":" + p.name
		if content, ok := d["content"].(object); ok {
			p.schema = content["application/json"].(object)["schema"]
			all = append(all, p)
			continue
		}
		p.style, _ = d["style"].(string)
		if p.style == "" {
			p.style = map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}[p.in]
		}
		explode, said := d["explode"].(bool)
		p.explode = explode && said || !said && p.style == "form"
		all = append(all, p)
	}
	return all
}

// content returns the content of the body of a request.
func (e *exchange) content(o operation) (content object, required bool) {
	body := e.resolve(o.described["requestBody"])
	content, _ = body["content"].(object)
	return content, body["required"] == true
}

// schemaOf returns the schema of a media type.
func (e *exchange) schemaOf(media string, described any) any {
	schema := e.resolve(described)["schema"]
	if schema == nil && !isJSON(media) {
		return object{"type": "string"}
	}
	return schema
}

func isJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	return strings.HasSuffix(media, "json")
}

// clients returns the media types of a body that the client method sends.
func clients(content object) []string {
	all := slices.Sorted(maps.Keys(content))
	inJSON := slices.DeleteFunc(slices.Clone(all), func(media string) bool { return !isJSON(media) })
	for _, first := range slices.Concat([]string{"application/json"}, inJSON, []string{urlencoded, "text/plain"}) {
		if content[first] != nil {
			return []string{first}
		}
	}
	return all
}

// sample returns a random valid request.
func (e *exchange) sample(o operation) (s sample, ok bool) {
	s.parameters = object{}
	for _, p := range e.parameters(o) {
		if !p.required && e.IntN(2) == 0 {
			continue
		}
		if s.parameters[p.at], ok = e.valid(p.schema, inRequest); !ok {
			return s, false
		}
	}
	content, required := e.content(o)
	if content == nil || !required && e.IntN(4) == 0 {
		return s, true
	}
	all, own := slices.Sorted(maps.Keys(content)), clients(content)
	s.media = pick(e, all...)
	if s.body, ok = e.validBody(s.media, content); !ok {
		return s, false
	}
	if s.given = s.body; !slices.Contains(own, s.media) {
		s.own = own[0]
		s.given, ok = e.validBody(s.own, content)
	}
	return s, ok
}

// validBody returns a valid body. A part of a multipart body is absent if its list is empty, and none is null.
func (e *exchange) validBody(media string, content object) (body any, ok bool) {
	for range 20 {
		body, ok = e.valid(e.schemaOf(media, content[media]), inRequest)
		fields, isObject := body.(object)
		isForm, fits := media == urlencoded || media == formData, isObject
		for name, value := range fields {
			all, isList := value.([]any)
			fits = fits && (media == urlencoded || value != nil && (!isList || len(all) > 0) || e.fieldKind(name, content[media]) == "JSON")
		}
		if ok && (!isForm || fits) && (isJSON(media) || body != "") { // an empty body is none
			return body, true
		}
	}
	return nil, false
}

// invoke calls the client method.
func (e *exchange) invoke(o operation, s sample, options ...client.CallOption) (result any, err error) {
	name := o.name
	if o.streamed {
		name += "Stream"
	}
	method := reflect.ValueOf(e.client).MethodByName(name)
	arguments, ok := e.arguments(o, method.Type(), s)
	if !ok {
		return nil, errArguments
	}
	for _, option := range options {
		arguments = append(arguments, reflect.ValueOf(option))
	}
	e.service.take()
	return outcome(method.Call(arguments))
}

var errArguments = errors.New("no arguments")

// call sends a valid request with the client, and compares what arrives. A body in a media type that the client does
// not send takes the place of its own.
func (e *exchange) call(o operation, s sample) {
	expected, ok := e.choose(o)
	if !ok {
		return
	}
	e.service.response = expected.response
	if e.change = nil; s.own != "" {
		e.change = func(r *http.Request) { setBody(r, concrete(s.media), e.bodyText(s)) }
	}
	var response client.Response
	result, err := e.invoke(o, s, client.WithResponse(&response))
	if errors.Is(err, errArguments) {
		return
	}
	if err != nil && !errors.As(err, new(*client.Error)) && isRefusal(err) {
		e.counts["refused by the client"]++ // a parameter has no text for the value
		if !strings.Contains(err.Error(), s.place) {
			e.Errorf("%s: the client refuses %s without its place: %v", o.name, s.place, err)
		}
		return
	}
	e.counts["sent by the client"]++
	if e.returns(o, expected, result, err, &response); !e.Failed() {
		e.arrives(o, s)
	}
}

func (e *exchange) bodyText(s sample) string {
	if isJSON(s.media) {
		return encoded(s.body)
	}
	return textOf(s.body)
}

// setBody changes the body of a request.
func setBody(r *http.Request, media, text string) {
	r.Header.Set("Content-Type", media)
	r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
}

func isRefusal(err error) bool {
	return slices.ContainsFunc([]string{"cannot contain this value", "has no form", "must not be empty"}, func(reason string) bool {
		return strings.Contains(err.Error(), reason)
	})
}

// arguments returns the arguments of the client method, but the last option.
func (e *exchange) arguments(o operation, t reflect.Type, s sample) (all []reflect.Value, ok bool) {
	all = append(all, reflect.ValueOf(e.Context()))
	named := map[string]parameter{}
	for _, p := range e.parameters(o) {
		named[p.name] = p
	}
	for _, match := range inBraces.FindAllStringSubmatch(o.path, -1) {
		all = append(all, e.argument(t.In(len(all)), s.parameters["path:"+match[1]]))
	}
	optional := object{}
	if params, hasParams := o.request.FieldByName("Params"); hasParams {
		for i := range params.Type.NumField() {
			field := params.Type.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			p, found := named[name]
			if !found {
				e.Fatalf("%s: the field %s has no parameter", o.name, field.Name)
			}
			if value, given := s.parameters[p.at]; p.required {
				all = append(all, e.argument(t.In(len(all)), value))
			} else if given {
				optional[field.Name] = value
			}
		}
	}
	if content, _ := e.content(o); content != nil {
		if s.own != "" {
			s.media, s.body = s.own, s.given
		}
		sent, media := e.bodyText(s), concrete(s.media)
		if s.media == formData {
			sent, media = e.multipart(s.body.(object), content[formData])
		}
		if t.In(len(all)).Kind() == reflect.String && t.NumIn() > len(all)+2 {
			all = append(all, reflect.ValueOf(media))
		}
		switch kind := t.In(len(all)); {
		case s.media == "":
			all = append(all, reflect.Zero(kind))
		case kind.Kind() == reflect.Interface:
			all = append(all, reflect.ValueOf(strings.NewReader(sent)))
		default:
			all = append(all, e.argument(kind, s.body))
		}
	}
	if len(optional) > 0 {
		all = append(all, reflect.ValueOf(e.optional(o, optional)))
	}
	return all, !e.Failed()
}

// arrives compares the last request with what was sent.
func (e *exchange) arrives(o operation, s sample) {
	got, read := e.service.take()
	if got == nil {
		e.Errorf("%s %s with %s and %s never arrived", o.name, o.path, encoded(s.parameters), encoded(s.body))
		return
	}
	arrived, v := object{}, reflect.ValueOf(got)
	collect := func(of reflect.Value, places ...string) {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
			for _, p := range e.parameters(o) {
				if field := of.Field(i); p.name == name && slices.Contains(places, p.in) && !isNil(field) {
					arrived[p.at] = parse([]byte(encoded(field.Interface())))
				}
			}
		}
	}
	collect(v, "path")
	if params := v.FieldByName("Params"); params.IsValid() {
		collect(params, "query", "header", "cookie")
	}
	if !same(s.parameters, arrived, false) {
		e.Errorf("%s: the parameters %s\narrive as %s", o.name, encoded(s.parameters), encoded(arrived))
	}
	e.bodyArrives(o, s, v, read)
}

func (e *exchange) bodyArrives(o operation, s sample, v reflect.Value, read any) {
	content, _ := e.content(o)
	switch {
	case s.media == "" && read == "": // a reader without bytes
		return
	case s.media == formData:
		want := e.fields(s.body.(object), content[formData])
		if !reflect.DeepEqual(read, want) {
			e.Errorf("%s: the parts %q\narrive as %q", o.name, want, read)
		}
		return
	case s.media != "" && !isJSON(s.media) && s.media != "text/plain" && s.media != urlencoded:
		if read != textOf(s.body) {
			e.Errorf("%s: the bytes %q arrive as %q", o.name, textOf(s.body), read)
		}
		return
	}
	var arrived any
	of := ""
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if strings.HasSuffix(field.Name, "Body") && !isNil(v.Field(i)) {
			if of != "" {
				e.Errorf("%s: the bodies %s and %s arrive", o.name, of, field.Name)
			}
			of, arrived = field.Name, parse([]byte(encoded(v.Field(i).Interface())))
		}
	}
	if !same(s.body, arrived, false) {
		e.Errorf("%s: the body %s\narrives as %s", o.name, encoded(s.body), encoded(arrived))
	}
	e.unions(o, v)
	if _, version, ok := strings.Cut(s.media, "version="); ok && of != "" && !strings.Contains(of, "Version"+version) {
		e.Errorf("%s: %s arrives as %s", o.name, s.media, of)
	}
}

// unions compares the values of unions with a discriminator with the alternatives that they find by it.
func (e *exchange) unions(o operation, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			e.unions(o, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			e.unions(o, v.Index(i))
		}
	case reflect.Struct:
		if find := v.MethodByName("ValueByDiscriminator"); find.IsValid() && v.CanInterface() {
			found := find.Call(nil)
			want := encoded(v.Interface())
			if err, _ := found[1].Interface().(error); err != nil {
				e.Errorf("%s: %s: %v", o.name, want, err)
			} else if got := encoded(found[0].Interface()); !same(parse([]byte(want)), parse([]byte(got)), true) {
				e.Errorf("%s: the alternative of %s is %s", o.name, want, got)
			}
			e.counts["unions"]++
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				e.unions(o, v.Field(i))
			}
		}
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return v.IsNil()
	}
	return false
}

// argument returns a value in the type of an argument.
func (e *exchange) argument(t reflect.Type, value any) reflect.Value {
	if base := bases[t]; base != nil { // a type that is declared as another loses its methods
		return e.argument(base, value).Convert(t)
	}
	into := reflect.New(t)
	if err := json.Unmarshal([]byte(encoded(value)), into.Interface()); err != nil {
		e.Errorf("%s is no %s: %v", encoded(value), t, err)
	}
	return into.Elem()
}

// optional returns the option with optional parameters. Its type is found by its fields.
func (e *exchange) optional(o operation, values object) client.CallOption {
	t := optionTypes[o.name]
	if t == nil {
		e.Fatalf("%s has no optional parameters", o.name)
	}
	into := reflect.New(t).Elem()
	for name, value := range values {
		field := into.FieldByName(name)
		if !field.IsValid() {
			e.Fatalf("%s has no field %s", t, name)
		}
		field.Set(e.argument(field.Type(), value))
	}
	return into.Interface().(client.CallOption)
}

var (
	optionTypes = map[string]reflect.Type{}
	bases       = map[reflect.Type]reflect.Type{} // of the types of responses
	foreign     = map[string]reflect.Type{
		"json.RawMessage": reflect.TypeFor[json.RawMessage](), "time.Time": reflect.TypeFor[time.Time](), "openapi_types.Date": reflect.TypeFor[openapi_types.Date](),
	}
)

// outcome returns the result of a client method: a value, the items of a stream, or nil.
func outcome(results []reflect.Value) (got any, err error) {
	if results[0].Kind() != reflect.Func {
		err, _ = results[len(results)-1].Interface().(error)
		if len(results) > 1 {
			got = results[0].Interface()
		}
		return got, err
	}
	all := []any{}
	for item, failed := range results[0].Seq2() {
		if err, _ = failed.Interface().(error); err != nil {
			return nil, err
		}
		value := item.Interface()
		if item := item.Elem(); strings.HasPrefix(item.Type().Name(), "Event[") {
			value = object{"event": item.FieldByName("Event").Interface(), "data": item.FieldByName("Data").Interface()}
		}
		all = append(all, parse([]byte(encoded(value))))
	}
	return all, nil
}

// textOf returns the text of a scalar.
func textOf(value any) string {
	if _, isReader := value.(io.Reader); isReader {
		return ""
	}
	return fmt.Sprint(value)
}
