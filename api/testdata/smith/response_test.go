package smith

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
)

// expected is a response of the service, and what the client must return.
type expected struct {
	response any
	spoilt   any // the response with a body that is invalid, or nil if there is none
	status   int
	media    string
	value    any // of the body, or the items of a stream
	items    bool
	headers  object
	typed    reflect.Type // of the headers
}

var status = regexp.MustCompile(`^(\d\d\d|\dXX|default)`)

// choose makes a random response, of those that the client accepts.
func (e *exchange) choose(o operation) (x expected, ok bool) {
	r := pick(e, slices.DeleteFunc(slices.Clone(o.responses), func(r response) bool {
		return strings.HasPrefix(r.suffix, "400") || strings.HasPrefix(r.suffix, "500") || !e.isAccepted(o, r)
	})...)
	name, all := status.FindString(r.suffix), o.described["responses"].(object)
	described := e.resolve(all[name])
	switch x.status, _ = strconv.Atoi(name); {
	case name == "2XX":
		x.status = 203
	case name == "4XX", name == "default" && len(all) > 3:
		x.status = 418
	case name == "default":
		x.status = 200
	}
	content, _ := described["content"].(object)
	x.media = cmp.Or(append([]string{r.media}, slices.Collect(maps.Keys(content))...)...) // one of a range
	var schema any
	if x.media != "" {
		schema, x.items = e.resolve(content[x.media])["itemSchema"]
		if !x.items {
			schema = e.schemaOf(x.media, content[x.media])
		}
	}
	value := reflect.New(r.of).Elem()
	part := value // without the types around it
	for part.Kind() == reflect.Struct && part.NumField() > 0 && strings.HasSuffix(part.Type().Field(0).Name, "Response") {
		part = part.Field(0)
	}
	body := part
	if part.Kind() == reflect.Struct {
		if field := part.FieldByName("Body"); field.IsValid() && part.Type().Field(0).Name == "Body" {
			body = field
		}
		if field := value.FieldByName("StatusCode"); field.IsValid() && field.Kind() == reflect.Int {
			field.SetInt(int64(x.status))
		}
		if field := value.FieldByName("ContentType"); field.IsValid() && r.media == "" && x.media != "" {
			field.SetString(concrete(x.media))
		}
		if field := part.FieldByName("Headers"); field.IsValid() && strings.HasSuffix(field.Type().Name(), "Headers") {
			x.typed = field.Type()
			if x.headers, ok = e.headers(described["headers"].(object), field); !ok {
				return x, false
			}
		}
	}
	switch {
	case x.media == "":
	case x.items:
		x.value = e.items(part.FieldByName("Items"), schema)
	default:
		if x.value, ok = e.valid(schema, inResponse); !ok || x.value == nil && !isJSON(x.media) {
			return x, false
		}
		if body.Kind() == reflect.Interface {
			body.Set(reflect.ValueOf(strings.NewReader(textOf(x.value))))
		} else {
			body.Set(e.argument(body.Type(), x.value))
		}
	}
	x.response = value.Interface()
	if x.media != "" && !x.items && isJSON(x.media) && e.spoilInto(body, schema, x.value) {
		x.spoilt = value.Interface()
	}
	return x, true
}

// spoilInto sets a body to an invalid value, if its type has one.
func (e *exchange) spoilInto(body reflect.Value, schema, value any) bool {
	of := cmp.Or(bases[body.Type()], body.Type())
	into := reflect.New(of)
	if json.Unmarshal([]byte(encoded(e.spoil(value))), into.Interface()) != nil {
		return false
	}
	text, err := encode.JSON(into.Interface())
	if err != nil || e.validate(schema, inResponse, parse(text)) == nil {
		return false
	}
	body.Set(into.Elem().Convert(body.Type()))
	return true
}

// respondSpoilt has the service respond with an invalid body, which must not reach the client.
func (e *exchange) respondSpoilt(o operation, s sample) {
	x, ok := e.choose(o)
	if !ok || x.spoilt == nil || o.method == http.MethodHead || s.own != "" {
		return
	}
	e.change, e.service.response = nil, x.spoilt
	_, err := e.invoke(o, s)
	if failed, ok := errors.AsType[*client.Error](err); !ok && isRefusal(err) {
		return
	} else if !ok || failed.StatusCode != http.StatusInternalServerError {
		e.Errorf("%s: the response %s gives the error %v", o.name, encoded(x.spoilt), err)
	}
	e.counts["invalid responses"]++
}

// isAccepted reports whether the client reads a response. It prefers application/json to other JSON, and that to
// streams.
func (e *exchange) isAccepted(o operation, r response) bool {
	content, _ := e.resolve(o.described["responses"].(object)[status.FindString(r.suffix)])["content"].(object)
	if o.streamed {
		return e.resolve(content[r.media])["itemSchema"] != nil
	}
	return len(content) < 2 || content["application/json"] == nil || r.media == "application/json"
}

// headers fills the headers of a response.
func (e *exchange) headers(described object, into reflect.Value) (object, bool) {
	given := object{}
	for i := range into.NumField() {
		for name, header := range described {
			field, header := into.Field(i), e.resolve(header)
			if strings.ReplaceAll(name, "-", "") != into.Type().Field(i).Name || header["required"] != true && e.IntN(2) == 0 {
				continue
			}
			value, ok := e.valid(header["schema"], inResponse)
			if !ok {
				return nil, false
			}
			given[into.Type().Field(i).Name] = value
			field.Set(e.argument(field.Type(), value))
		}
	}
	return given, true
}

// items makes the items of a stream, and returns them.
func (e *exchange) items(into reflect.Value, schema any) any {
	all, values := []reflect.Value{}, []any{}
	item := into.Type().In(0).In(0)
	for range e.IntN(4) {
		one := reflect.New(item).Elem()
		value, ok := any(nil), false
		if strings.HasPrefix(item.Name(), "Event[") {
			value, ok = e.event(one, e.resolve(schema))
		} else if value, ok = e.valid(schema, inResponse); ok {
			one.Set(e.argument(item, value))
		}
		if ok {
			all, values = append(all, one), append(values, value)
		}
	}
	into.Set(reflect.MakeFunc(into.Type(), func(in []reflect.Value) []reflect.Value {
		for _, one := range all {
			if !in[0].Call([]reflect.Value{one, reflect.Zero(reflect.TypeFor[error]())})[0].Bool() {
				break
			}
		}
		return nil
	}))
	return values
}

// event fills a server-sent event, and returns it.
func (e *exchange) event(into reflect.Value, schema object) (any, bool) {
	if kinds := list(schema["oneOf"]); kinds != nil {
		schema = pick(e, kinds...).(object)
	}
	event, _ := schema["properties"].(object)["event"].(object)
	name, _ := event["const"].(string)
	described := schema["properties"].(object)["data"].(object)
	value, ok := e.valid(cmp.Or(described["contentSchema"], any(described)), inResponse)
	if !ok {
		return nil, false
	}
	data := into.FieldByName("Data")
	if of := data.Addr().MethodByName("Of"); of.IsValid() {
		harness.Check(e.T, json.Unmarshal([]byte(encoded(value)), of.Call([]reflect.Value{reflect.ValueOf(name)})[0].Interface()))
	} else {
		if described["contentSchema"] != nil && data.Kind() == reflect.String { // beside data that is no JSON
			value = encoded(value)
		}
		data.Set(e.argument(data.Type(), value))
	}
	into.FieldByName("Event").SetString(name)
	return object{"event": name, "data": value}, true
}

// isPlain matches the JSON of headers whose values have texts that stand for no other values.
var isPlain = regexp.MustCompile(`^(null|\{("[^"]+":(\[?("[^", \\]+"|[\w.+-]+),?)+\]?,?)*\})$`)

// returns compares the result of a client method with what it must return.
func (e *exchange) returns(o operation, want expected, got any, err error, response *client.Response) {
	refused, isStatus := errors.AsType[*client.Error](err)
	if isStatus && refused.StatusCode == http.StatusInternalServerError && !isPlain.MatchString(encoded(want.headers)) {
		return // a header has no text for the value
	}
	success := want.status/100 == 2 || want.status/100 == 3
	switch {
	case success && err != nil || !success && !isStatus:
		e.Errorf("%s: the status %d with %s gives the error %v", o.name, want.status, encoded(want.value), err)
		return
	case !success:
		if refused.StatusCode != want.status {
			e.Errorf("%s: the status is %d, want %d", o.name, refused.StatusCode, want.status)
		}
		return
	}
	if want.typed != nil {
		read := reflect.New(want.typed)
		if err, _ := read.MethodByName("Decode").Call([]reflect.Value{reflect.ValueOf(response.Header)})[0].Interface().(error); err != nil {
			e.Errorf("%s: %v", o.name, err)
		}
		if headers := parse([]byte(encoded(read.Elem().Interface()))); !same(want.headers, headers, true) {
			e.Errorf("%s: the headers %s arrive as %s", o.name, encoded(want.headers), encoded(headers))
		}
	}
	if o.method == http.MethodHead || want.media == "" {
		return
	}
	if media := response.Header.Get("Content-Type"); media != concrete(want.media) {
		e.Errorf("%s: the response in %s is in %s", o.name, want.media, media)
	}
	switch value := got.(type) {
	case io.ReadCloser:
		text, err := io.ReadAll(value)
		if _ = value.Close(); err != nil || string(text) != textOf(want.value) {
			e.Errorf("%s: %q arrives as %q, %v", o.name, textOf(want.value), text, err)
		}
		return
	case string:
		if !isJSON(want.media) {
			e.textReturns(o, want.value, value)
			return
		}
	case nil:
		e.Errorf("%s: nothing arrives of %s", o.name, encoded(want.value))
		return
	}
	if arrived := parse([]byte(encoded(resultOf(got)))); !same(want.value, arrived, true) {
		e.Errorf("%s: the response %s\narrives as    %s", o.name, encoded(want.value), encoded(arrived))
	}
}

// textReturns compares a text with the value that it stands for. A number may have other digits.
func (e *exchange) textReturns(o operation, want any, got string) {
	if _, isText := want.(string); isText && got != want || !isText && !same(want, parse([]byte(got)), false) {
		e.Errorf("%s: the text %v arrives as %q", o.name, want, got)
	}
}

// resultOf returns the field that is set of a result with several types.
func resultOf(got any) any {
	v := reflect.Indirect(reflect.ValueOf(got))
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[client.Client]().PkgPath() {
		return got
	}
	for i := range v.NumField() {
		if field := v.Field(i); field.Kind() == reflect.Pointer && !field.IsNil() {
			return field.Interface()
		}
	}
	return nil
}
