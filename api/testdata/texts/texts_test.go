// Package texts sends texts that a reader could take for nothing, or for another value, from the generated client to
// the generated server and back. TestSmith of package api compiles and runs it in a copy of the module whose document
// has the paths beside this file.
package texts

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// values are in JSON. Each is sent in each place whose type and enum it fits.
var values = strings.Split(`""|"null"|null|"a"|"true"|"0"|" "|","|"a,b"|"a b"|"%"|"\""|"é"|"[]"|"\"\""|"."|".."|[]|[""]|["null"]|["a"]|["",""]|["a",""]|["","a"]|[null]|`+
	`[","]|["a,b","c"]|[" "]|["a ","b"]|["\"a\""]|{}|{"":""}|{"a":""}|{"a":"null"}|{"a":null}|{"a":"b","c":""}|[{}]|[{"a":""}]|[{"a":"null"}]|[[]]|[[""]]|[["null"]]`, "|")

// service keeps the last request, and sends a response that the test chose.
type service struct {
	server.Unimplemented
	request, response any
}

func (s *service) intercept(gen.StrictHandlerFunc, string) gen.StrictHandlerFunc {
	return func(_ context.Context, _ http.ResponseWriter, _ *http.Request, request any) (any, error) {
		s.request = request
		return s.response, nil
	}
}

func serve(t *testing.T) (*service, *client.Client) {
	t.Helper()
	s := &service{}
	handler, err := server.New(s, server.Config{
		Middleware:        []gen.StrictMiddlewareFunc{s.intercept},
		ValidateResponses: server.ResponsesEnforced,
		Authenticator:     server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, nil }),
	})
	check(t, err)
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	c, err := client.New(client.Config{BaseURL: listener.URL, Retry: client.Retry{Attempts: 1}})
	check(t, err)
	return s, c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	encoded, err := encode.JSON(value) // a list or map that is nil is an empty one
	check(t, err)
	return string(encoded)
}

// fits sets a field to a value, and reports whether it has this value and the document allows it.
func fits(t *testing.T, field reflect.Value, value string) bool {
	t.Helper()
	field.SetZero()
	into := field
	if field.Kind() == reflect.Pointer {
		into = reflect.New(field.Type().Elem()).Elem()
	}
	if json.Unmarshal([]byte(value), into.Addr().Interface()) != nil {
		return false
	}
	if encoded, err := json.Marshal(into.Interface()); err != nil || string(encoded) != value {
		return false
	}
	one := into
	if one.Kind() == reflect.Slice && one.Len() > 0 {
		one = one.Index(0)
	}
	if valid, ok := one.Interface().(interface{ Valid() bool }); ok && !valid.Valid() {
		return false
	}
	if field.Kind() == reflect.Pointer {
		field.Set(into.Addr())
	}
	return true
}

// arrives requires that a value has arrived unchanged, or that the client refused it by the name of its place.
func (s *service) arrives(t *testing.T, place string, sent any, err error, got func() any) {
	t.Helper()
	value := text(t, sent)
	switch arrived := s.request; {
	case errors.As(err, new(*client.Error)):
		t.Errorf("%s: the service alone refuses %s: %v", place, value, err)
	case err != nil && (arrived != nil || !strings.Contains(err.Error(), place)):
		t.Errorf("%s: the client refuses %s without its name, or sends it: %v", place, value, err)
	case err == nil && arrived == nil:
		t.Errorf("%s: %s never arrives", place, value)
	case err == nil:
		if got := text(t, got()); got != value {
			t.Errorf("%s: %s arrives as %s", place, value, got)
		}
	}
	s.request = nil
}

// nameOf returns the name that a field has in the document.
func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func TestTexts_optionalParameters(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	s.response = gen.GetOptionalTexts204Response{}
	count := map[string]int{}
	for i := range reflect.TypeFor[gen.GetOptionalTextsParams]().NumField() {
		name := nameOf(reflect.TypeFor[gen.GetOptionalTextsParams]().Field(i))
		for _, value := range values {
			var params client.GetOptionalTextsParams
			sent := reflect.ValueOf(&params).Elem().FieldByName(reflect.TypeFor[gen.GetOptionalTextsParams]().Field(i).Name)
			if !fits(t, sent, value) {
				continue
			}
			count[name]++
			s.arrives(t, name, sent.Interface(), c.GetOptionalTexts(t.Context(), params), func() any {
				return reflect.ValueOf(s.request).FieldByName("Params").Field(i).Interface()
			})
		}
		if count[name] < 3 {
			t.Errorf("%s has %d values", name, count[name])
		}
	}
}

func TestTexts_requiredParameters(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	s.response = gen.GetRequiredTexts204Response{}
	method := reflect.ValueOf(c.GetRequiredTexts)
	usual := []reflect.Value{reflect.ValueOf(t.Context())}
	for i := 1; i < method.Type().NumIn()-1; i++ {
		argument := reflect.New(method.Type().In(i)).Elem()
		for _, value := range []string{`"a"`, `["a"]`, `{"a":"b","c":""}`} {
			if fits(t, argument, value) {
				break
			}
		}
		usual = append(usual, argument)
	}
	request, params := reflect.TypeFor[gen.GetRequiredTextsRequestObject](), reflect.TypeFor[gen.GetRequiredTextsParams]()
	for i := 1; i < len(usual); i++ {
		name, path := "", []int{i - 1} // of the field in the request
		if i <= request.NumField()-1 {
			name = nameOf(request.Field(i - 1))
		} else {
			path = []int{request.NumField() - 1, i - request.NumField()}
			name = nameOf(params.Field(i - request.NumField()))
		}
		count := 0
		for _, value := range values {
			arguments := slices.Clone(usual)
			arguments[i] = reflect.New(usual[i].Type()).Elem()
			if !fits(t, arguments[i], value) {
				continue
			}
			count++
			err, _ := method.Call(arguments)[0].Interface().(error)
			s.arrives(t, name, arguments[i].Interface(), err, func() any { return reflect.ValueOf(s.request).FieldByIndex(path).Interface() })
		}
		if count < 3 {
			t.Errorf("%s has %d values", name, count)
		}
	}
}

func TestTexts_fieldsOfForms(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	s.response = gen.PostTexts204Response{}
	for i := range reflect.TypeFor[gen.PostTextsFormdataRequestBody]().NumField() {
		field := reflect.TypeFor[gen.PostTextsFormdataRequestBody]().Field(i)
		for _, value := range values {
			if body := (gen.PostTextsFormdataRequestBody{}); fits(t, reflect.ValueOf(&body).Elem().Field(i), value) {
				s.arrives(t, nameOf(field), reflect.ValueOf(body).Field(i).Interface(), c.PostTexts(t.Context(), body), func() any {
					return reflect.ValueOf(s.request).FieldByName("Body").Elem().Field(i).Interface()
				})
			}
		}
	}
	s.response = gen.PostRequiredTexts204Response{}
	for _, value := range values {
		body := gen.PostRequiredTextsFormdataRequestBody{Text: "a", List: []string{"a"}}
		if fits(t, reflect.ValueOf(&body.Text).Elem(), value) {
			s.arrives(t, "text", body.Text, c.PostRequiredTexts(t.Context(), body), func() any {
				return s.request.(gen.PostRequiredTextsRequestObject).Body.Text
			})
		}
		body.Text = "a"
		if fits(t, reflect.ValueOf(&body.List).Elem(), value) {
			s.arrives(t, "list", body.List, c.PostRequiredTexts(t.Context(), body), func() any {
				return s.request.(gen.PostRequiredTextsRequestObject).Body.List
			})
		}
	}
}

func TestTexts_bodies(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	for _, value := range values {
		var body string
		if fits(t, reflect.ValueOf(&body).Elem(), value) {
			s.response = gen.PutRequiredText204Response{}
			s.arrives(t, "body", body, c.PutRequiredText(t.Context(), body), func() any { return s.request.(gen.PutRequiredTextRequestObject).Body })
			s.response = gen.PutOptionalText204Response{}
			s.arrives(t, "body", body, c.PutOptionalText(t.Context(), &body), func() any { return s.request.(gen.PutOptionalTextRequestObject).Body })
		}
		var members gen.PutJSONTextJSONRequestBody
		if fits(t, reflect.ValueOf(&members).Elem(), value) {
			s.response = gen.PutJSONText204Response{}
			s.arrives(t, "body", members, c.PutJSONText(t.Context(), members), func() any { return s.request.(gen.PutJSONTextRequestObject).Body })
		}
	}
}

func TestTexts_ofResponses(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	for _, value := range values {
		var response client.Response
		optional := gen.GetResponseTexts200TextResponse{Body: "a"}
		if fits(t, reflect.ValueOf(&optional.Body).Elem(), value) {
			s.response = optional
			if got, err := c.GetResponseTexts(t.Context()); err != nil || got != optional.Body {
				t.Errorf("the text %s arrives as %q, %v", value, got, err)
			}
		}
		optional.Body = "a"
		for i := range reflect.TypeOf(optional.Headers).NumField() {
			if headers := reflect.ValueOf(&optional.Headers).Elem(); fits(t, headers.Field(i), value) {
				s.response = optional
				_, err := c.GetResponseTexts(t.Context(), client.WithResponse(&response))
				var got gen.GetResponseTexts200ResponseHeaders
				check(t, got.Decode(response.Header))
				s.isKept(t, value, headers.Field(i).Interface(), reflect.ValueOf(got).Field(i).Interface(), err)
				headers.Field(i).SetZero()
			}
		}
		required := gen.PutResponseTexts200FormdataResponse{Headers: gen.PutResponseTexts200ResponseHeaders{XText: "a", XList: []string{"a"}}}
		for i := range reflect.TypeOf(required.Headers).NumField() {
			headers := reflect.ValueOf(&required.Headers).Elem()
			if usual := headers.Field(i).Interface(); fits(t, headers.Field(i), value) {
				s.response = required
				body, err := c.PutResponseTexts(t.Context(), client.WithResponse(&response))
				if err == nil {
					check(t, body.Close())
				}
				var got gen.PutResponseTexts200ResponseHeaders
				check(t, got.Decode(response.Header))
				s.isKept(t, value, headers.Field(i).Interface(), reflect.ValueOf(got).Field(i).Interface(), err)
				headers.Field(i).Set(reflect.ValueOf(usual))
			}
		}
	}
}

// isKept requires that a header has arrived unchanged, or that the service failed instead of sending another value.
func (*service) isKept(t *testing.T, value string, sent, got any, err error) {
	t.Helper()
	if err == nil && text(t, sent) != text(t, got) && value != "null" {
		t.Errorf("the header %s arrives as %s", value, text(t, got))
	}
	if refused, ok := errors.AsType[*client.Error](err); err != nil && (!ok || refused.StatusCode != http.StatusInternalServerError) {
		t.Errorf("the header %s: %v", value, err)
	}
}

// A form of a response is written like that of a request.
func TestTexts_formsOfResponses(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	form := gen.PutResponseTexts200FormdataResponse{Headers: gen.PutResponseTexts200ResponseHeaders{XText: "a"}}
	check(t, json.Unmarshal([]byte(`{"text":"","list":["a",""],"flat":["b","c"],"jsons":[null,""],"rows":[{"a":""},{}],"lists":[[]]}`), &form.Body))
	s.response = form
	body, err := c.PutResponseTexts(t.Context())
	check(t, err)
	text, err := io.ReadAll(body)
	check(t, errors.Join(err, body.Close()))
	got, err := url.QueryUnescape(string(text))
	if want := `flat=b,c&jsons=[null,""]&list=a&list=&lists=[]&rows={"a":""}&rows={}&text=`; err != nil || got != want {
		t.Errorf("the form is %s, %v", got, err)
	}
}

// An empty form is none if it is optional.
func TestTexts_emptyForms(t *testing.T) {
	t.Parallel()
	s, c := serve(t)
	s.response = gen.PostTexts204Response{}
	s.arrives(t, "body", gen.PostTextsFormdataRequestBody{}, c.PostTexts(t.Context(), gen.PostTextsFormdataRequestBody{}), func() any { return s.request.(gen.PostTextsRequestObject).Body })
	s.response = gen.PutOptionalTexts204Response{}
	s.arrives(t, "body", gen.PutOptionalTextsFormdataRequestBody{}, c.PutOptionalTexts(t.Context(), &gen.PutOptionalTextsFormdataRequestBody{}), func() any { return s.request.(gen.PutOptionalTextsRequestObject).Body })
}
