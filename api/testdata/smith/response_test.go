package smith

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/client"
)

// expected is a response of the service, and what the client must return.
type expected struct {
	response any
	status   int
	media    string
	value    any // of the body, or the items of a stream
	headers  object
	typed    reflect.Type // of the headers
}

var status = regexp.MustCompile(`^(\d\d\d|\dXX|default)`)

// choose makes a random response.
func (e *exchange) choose(o operation, described object) (x expected, ok bool) {
	i := e.IntN(len(o.responses))
	for strings.HasPrefix(o.suffixes[i], "400") || strings.HasPrefix(o.suffixes[i], "500") {
		i = e.IntN(len(o.responses))
	}
	t, name := o.responses[i], strings.ToLower(status.FindString(o.suffixes[i]))
	all := described["responses"].(object)
	for key := range all {
		if strings.EqualFold(key, name) {
			name = key
		}
	}
	response := all[name].(object)
	switch x.status, _ = strconv.Atoi(name); {
	case strings.EqualFold(name, "2XX"):
		x.status = 203
	case name == "default" && len(all) > 3:
		x.status = 418
	case name == "default":
		x.status = 200
	}
	var schema any
	var items bool
	contents, _ := response["content"].(object)
	for media, content := range contents {
		x.media = media
		if schema, items = content.(object)["itemSchema"], true; schema == nil {
			schema, items = content.(object)["schema"], false
		}
	}
	if schema == nil && x.media != "" && !isJSON(x.media) {
		schema = object{"type": "string"}
	}
	value := reflect.New(t).Elem()
	x.value, ok = e.valid(schema, inResponse, func(value any) bool { return isJSON(x.media) || !vanishes(value, "body") })
	if !ok {
		return x, false
	}
	body := value
	if t.Kind() == reflect.Struct {
		if field := value.FieldByName("Body"); field.IsValid() {
			body = field
		}
		if field := value.FieldByName("StatusCode"); field.IsValid() {
			field.SetInt(int64(x.status))
		}
		if field := value.FieldByName("Headers"); field.IsValid() {
			x.typed = field.Type()
			if x.headers, ok = e.headers(response["headers"].(object), field); !ok {
				return x, false
			}
		}
	}
	switch {
	case x.media == "":
	case items:
		x.value = e.items(value.FieldByName("Items"), schema)
	case body.Kind() == reflect.Interface:
		body.Set(reflect.ValueOf(strings.NewReader(fmt.Sprint(x.value))))
	case body == value:
		value = e.argument(t, x.value)
	default:
		body.Set(e.argument(body.Type(), x.value))
	}
	x.response = value.Interface()
	return x, true
}

// headers fills the headers of a response.
func (e *exchange) headers(described object, into reflect.Value) (object, bool) {
	given := object{}
	for i := range into.NumField() {
		for name, header := range described {
			field := into.Field(i)
			if strings.ReplaceAll(name, "-", "") != into.Type().Field(i).Name || header.(object)["required"] != true && e.IntN(2) == 0 {
				continue
			}
			value, ok := e.valid(header.(object)["schema"], inResponse, func(value any) bool { return !vanishes(value, "header") })
			if !ok {
				return nil, false
			}
			given[into.Type().Field(i).Name] = value
			if field.Kind() == reflect.Pointer {
				field.Set(reflect.New(field.Type().Elem()))
				field = field.Elem()
			}
			field.Set(e.argument(field.Type(), value))
		}
	}
	return given, true
}

// items makes the items of a stream, and returns them.
func (e *exchange) items(into reflect.Value, schema any) any {
	var all []reflect.Value
	values := []any{}
	item := into.Type().In(0).In(0)
	data, events := schema.(object)["properties"].(object)["data"].(object)
	events = events && strings.HasPrefix(item.Name(), "Event[")
	if events {
		schema = data["contentSchema"]
	}
	for range e.IntN(3) {
		value, ok := e.valid(schema, inResponse, func(any) bool { return true })
		if !ok {
			continue
		}
		values = append(values, value)
		one := reflect.New(item).Elem()
		if events {
			one.FieldByName("Data").Set(e.argument(one.FieldByName("Data").Type(), value))
		} else {
			one = e.argument(item, value)
		}
		all = append(all, one)
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

// outcome returns the result of a client method: a value, the items of a stream, or nil.
func outcome(results []reflect.Value) (got any, err error) {
	if results[0].Kind() != reflect.Func {
		err, _ = results[len(results)-1].Interface().(error)
		if len(results) > 1 {
			got = results[0].Interface()
		}
		return got, err
	}
	list := []any{}
	for item, failed := range results[0].Seq2() {
		if err, _ = failed.Interface().(error); err != nil {
			return nil, err
		}
		if data := item.Elem().FieldByName("Data"); strings.HasPrefix(item.Elem().Type().Name(), "Event[") {
			item = data
		}
		list = append(list, parse([]byte(encoded(item.Interface()))))
	}
	return list, nil
}

// arrives compares the result of a client method with what it must return.
func (e *exchange) arrives(o operation, want expected, got any, err error, response *client.Response) {
	e.Helper()
	e.counts["valid response"]++
	refused, isStatus := errors.AsType[*client.Error](err)
	success := want.status/100 == 2 || want.status == http.StatusSeeOther
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
	if want.typed != nil && response.Header != nil {
		read := reflect.New(want.typed)
		if err, _ := read.MethodByName("Decode").Call([]reflect.Value{reflect.ValueOf(response.Header)})[0].Interface().(error); err != nil {
			e.Errorf("%s: %v", o.name, err)
		}
		headers := parse([]byte(encoded(read.Elem().Interface())))
		if !same(want.headers, headers, true) {
			e.Errorf("%s: the headers %s arrive as %s", o.name, encoded(want.headers), encoded(headers))
		}
	}
	if o.method == http.MethodHead || want.media == "" {
		return
	}
	switch value := got.(type) {
	case io.ReadCloser:
		text, err := io.ReadAll(value)
		if _ = value.Close(); err != nil || string(text) != fmt.Sprint(want.value) {
			e.Errorf("%s: %q arrives as %q, %v", o.name, want.value, text, err)
		}
		return
	case string:
		if !isJSON(want.media) {
			if text, isText := want.value.(string); !isText && !same(parse([]byte(encoded(want.value))), parse([]byte(value)), false) || isText && text != value {
				e.Errorf("%s: the text %v arrives as %q", o.name, want.value, value)
			}
			return
		}
	case nil:
		if want.value != nil {
			e.Errorf("%s: nothing arrives of %s", o.name, encoded(want.value))
		}
		return
	}
	if v := reflect.ValueOf(got); v.Kind() == reflect.Pointer && !v.IsNil() && strings.HasSuffix(v.Elem().Type().Name(), "Result") && v.Elem().Kind() == reflect.Struct && v.Elem().FieldByName("StatusCode").IsValid() {
		for i := range v.Elem().NumField() {
			if field := v.Elem().Field(i); want.value == nil {
				return
			} else if field.Kind() == reflect.Pointer && !field.IsNil() {
				got = field.Interface()
			}
		}
		if !isJSON(want.media) {
			return
		}
	}
	if arrived := parse([]byte(encoded(got))); !same(want.value, arrived, true) {
		e.Errorf("%s: the response %s\narrives as    %s", o.name, encoded(want.value), encoded(arrived))
	}
}

func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}
