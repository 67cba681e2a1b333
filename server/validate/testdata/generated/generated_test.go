// Package generated is compiled and run by TestHandler_servesGeneratedClients of package validate, which puts the
// generated code and its document beside this file.
package generated

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"reflect"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

//go:embed document.json
var document []byte

// service implements all operations; those of styles are answered by a middleware.
type service struct {
	StrictServerInterface
}

func (service) DeleteThing(_ context.Context, r DeleteThingRequestObject) (DeleteThingResponseObject, error) {
	if r.ThingID == 404 {
		return DeleteThingdefaultApplicationProblemPlusJSONResponse{Body: Problem{Status: 404}, StatusCode: 404}, nil
	}
	return DeleteThing204Response{}, nil
}

func (service) PutThing(_ context.Context, r PutThingRequestObject) (PutThingResponseObject, error) {
	thing := Thing{Name: r.ContentType}
	switch {
	case r.JSONBody != nil:
		thing = *r.JSONBody
	case r.TextBody != nil:
		thing.Name = "text " + *r.TextBody
	case r.Body != nil:
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		thing.Name += " " + string(text)
	default:
		count := 7
		return PutThing202Response{Headers: PutThing202ResponseHeaders{Location: "/later", XCount: &count}}, nil
	}
	return PutThing2XXJSONResponse{Body: thing, StatusCode: 201}, nil
}

func (service) PostNumber(_ context.Context, r PostNumberRequestObject) (PostNumberResponseObject, error) {
	return PostNumber200TextResponse(strings.Repeat("x", *r.Body)), nil
}

func (service) PostForm(_ context.Context, r PostFormRequestObject) (PostFormResponseObject, error) {
	text, err := json.Marshal(r.Body)
	size := 1
	return PostForm200FormdataResponse{Name: string(text), Size: &size}, err
}

func (service) PostParts(_ context.Context, r PostPartsRequestObject) (PostPartsResponseObject, error) {
	var texts []string
	for {
		part, err := r.Body.NextPart()
		if errors.Is(err, io.EOF) && !errors.As(err, new(*validate.Error)) {
			break
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		texts = append(texts, part.FormName()+"="+string(text))
	}
	return PostParts200MultipartResponse(func(w *multipart.Writer) error {
		return w.WriteField("title", strings.Join(texts, " "))
	}), nil
}

func (service) PostStream(_ context.Context, r PostStreamRequestObject) (PostStreamResponseObject, error) {
	return PostStream200ApplicationOctetStreamResponse{Body: r.Body}, nil
}

// routes wraps each handler with the operation of its pattern, as package server does.
type routes struct {
	*http.ServeMux
	t         *testing.T
	validator *validate.Validator
}

func (rs routes) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	o, ok := rs.validator.Operation(method, path)
	if !ok {
		rs.t.Fatalf("there is no operation %s", pattern)
	}
	rs.ServeMux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		o.Handler(http.HandlerFunc(handler), fail).ServeHTTP(recorder, r)
		if recorder.Code < 400 {
			if err := o.Response(recorder.Code, recorder.Header(), recorder.Body.Bytes()); err != nil {
				rs.t.Errorf("%s: %v", pattern, err)
			}
		}
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	}))
}

func fail(w http.ResponseWriter, _ *http.Request, err error) {
	if invalid := (*validate.Error)(nil); errors.As(err, &invalid) {
		http.Error(w, "refused by the validator", invalid.Status)
		return
	}
	http.Error(w, "refused by the generated server", http.StatusInternalServerError)
}

func serve(t *testing.T) *ClientWithResponses {
	t.Helper()
	validator, err := validate.Load(document, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(w http.ResponseWriter, _ *http.Request, _ error) {
		http.Error(w, "refused by the generated server", http.StatusInternalServerError)
	}
	echo := func(next StrictHandlerFunc, _ string) StrictHandlerFunc {
		return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
			if !strings.HasPrefix(r.URL.Path, "/styles/") {
				return next(ctx, w, r, request)
			}
			bound, err := json.Marshal(request)
			w.Header().Set("X-Bound", string(bound))
			w.WriteHeader(http.StatusNoContent)
			return nil, err
		}
	}
	strict := NewStrictHandlerWithOptions(service{}, []StrictMiddlewareFunc{echo}, StrictHTTPServerOptions{
		RequestErrorHandlerFunc: refuse, ResponseErrorHandlerFunc: fail,
	})
	server := httptest.NewServer(HandlerWithOptions(strict, StdHTTPServerOptions{
		BaseRouter: routes{http.NewServeMux(), t, validator}, ErrorHandlerFunc: refuse,
	}))
	t.Cleanup(server.Close)
	client, err := NewClientWithResponses(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// try calls the operation of a style with a value, and returns the result.
func try(client *ClientWithResponses, method, value string) string {
	call := reflect.ValueOf(client.ClientInterface).MethodByName(method)
	args := []reflect.Value{reflect.ValueOf(context.Background())}
	argument := reflect.New(call.Type().In(1))
	wrapped, inParams := value, call.Type().In(1).Kind() == reflect.Pointer
	if inParams {
		wrapped = `{"it":` + value + `}`
	}
	if err := json.Unmarshal([]byte(wrapped), argument.Interface()); err != nil {
		return err.Error()
	}
	results := call.Call(append(args, argument.Elem()))
	if err, _ := results[1].Interface().(error); err != nil {
		return "not sent by the client"
	}
	response := results[0].Interface().(*http.Response)
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusNoContent {
		return strings.TrimSpace(string(text))
	}
	want := wrapped
	if inParams {
		want = `{"Params":` + wrapped + `}`
	} else {
		want = `{"it":` + wrapped + `}`
	}
	var got, expected any
	_ = json.Unmarshal([]byte(response.Header.Get("X-Bound")), &got)
	_ = json.Unmarshal([]byte(want), &expected)
	if !reflect.DeepEqual(got, expected) {
		return "bound as " + response.Header.Get("X-Bound")
	}
	return "ok"
}

// The validator and the generated server decode the values that the generated client writes, except for the values that
// it cannot write. The documentation of package validate lists these.
func TestStyles_areDecodedAsTheClientEncodesThem(t *testing.T) {
	client := serve(t)
	values := map[string]string{
		"Array": `["red","b l&=%+/ue"]`, "Numbers": `[1,-20]`, "Words": `{"name":"a b","word":"it's"}`, "Object": `{"name":"a","x":7}`,
		"Scalar": `7`, "Text": `"a b/c,d%+"`,
	}
	// A header and a cookie escape nothing, a label no dots, and a pipe is a delimiter in each form.
	const hard = `["red","b lue,|.&=%\";\\"]`
	cannot := map[string]string{
		"CookieFormTrueArray":             `bound as {"Params":{"it":["red,b l\u0026=%+/ue"]}}`,
		"CookieFormTrueNumbers":           "refused by the validator",
		"CookieFormTrueObject":            "refused by the validator",
		"CookieFormTrueWords":             "refused by the validator",
		"QueryPipeDelimitedFalseObject":   "not sent by the client",
		"QueryPipeDelimitedFalseWords":    "not sent by the client",
		"QuerySpaceDelimitedFalseArray":   "400 Bad Request",
		"QuerySpaceDelimitedFalseNumbers": "400 Bad Request",
		"QuerySpaceDelimitedFalseObject":  "not sent by the client",
		"QuerySpaceDelimitedFalseWords":   "not sent by the client",
	}
	tried := 0
	methods := reflect.TypeFor[*Client]()
	for i := range methods.NumMethod() {
		method := methods.Method(i).Name
		for kind, value := range values {
			if !strings.HasSuffix(method, "True"+kind) && !strings.HasSuffix(method, "False"+kind) {
				continue
			}
			if kind == "Array" && (strings.HasPrefix(method, "PathSimple") || strings.HasPrefix(method, "PathMatrix") || strings.HasPrefix(method, "QueryForm")) {
				value = hard
			}
			tried++
			want := "ok"
			if failure := cannot[method]; failure != "" {
				want = failure
			}
			if got := try(client, method, value); got != want {
				t.Errorf("%s: got %s, want %s", method, got, want)
			}
		}
	}
	if tried != 85 {
		t.Errorf("%d operations have been tried", tried)
	}
}

func TestBodies_areDecodedByMediaType(t *testing.T) {
	client, ctx := serve(t), t.Context()
	gone, err := client.DeleteThingWithResponse(ctx, 1)
	if err != nil || gone.StatusCode() != 204 || len(gone.Body) != 0 {
		t.Errorf("got %+v, %v", gone, err)
	}
	gone, err = client.DeleteThingWithResponse(ctx, 404)
	if err != nil || gone.StatusCode() != 404 || gone.ApplicationProblemJSONDefault == nil {
		t.Errorf("got %+v, %v", gone, err)
	}
	put, err := client.PutThingWithResponse(ctx, 1, Thing{Name: "Ada"})
	if err != nil || put.JSON2XX == nil || put.JSON2XX.Name != "Ada" || put.StatusCode() != 201 {
		t.Errorf("got %+v, %v", put, err)
	}
	put, err = client.PutThingWithTextBodyWithResponse(ctx, 1, "Ada")
	if err != nil || put.JSON2XX == nil || put.JSON2XX.Name != "text Ada" {
		t.Errorf("got %+v, %v", put, err)
	}
	if put, err = client.PutThingWithTextBodyWithResponse(ctx, 1, "too long"); err != nil || put.StatusCode() != 400 {
		t.Errorf("got %+v, %v", put, err)
	}
	put, err = client.PutThingWithBodyWithResponse(ctx, 1, "video/mp4", strings.NewReader("\x00"))
	if err != nil || put.JSON2XX == nil || put.JSON2XX.Name != "video/mp4 \x00" {
		t.Errorf("got %+v, %v", put, err)
	}
	if put, err = client.PutThingWithBodyWithResponse(ctx, 1, "image/png", strings.NewReader("a")); err != nil || put.StatusCode() != 415 {
		t.Errorf("got %+v, %v", put, err)
	}
	put, err = client.PutThingWithBodyWithResponse(ctx, 1, "", http.NoBody)
	if err != nil || put.StatusCode() != 202 || put.HTTPResponse.Header.Get("Location") != "/later" || put.HTTPResponse.Header.Get("X-Count") != "7" {
		t.Errorf("got %+v, %v", put, err)
	}
	number, err := client.PostNumberWithTextBodyWithResponse(ctx, 3)
	if err != nil || string(number.Body) != "xxx" {
		t.Errorf("got %+v, %v", number, err)
	}
	if number, err = client.PostNumberWithTextBodyWithResponse(ctx, 11); err != nil || number.StatusCode() != 400 {
		t.Errorf("got %+v, %v", number, err)
	}
	size, zip, city := 5, 123, "Rome"
	form, err := client.PostFormWithFormdataBodyWithResponse(ctx, Thing{
		Name: "Ada", Size: &size, Tags: &[]string{"a", "b"}, Where: &Where{City: &city, Zip: &zip},
	})
	const sent = `name=%7B%22name%22%3A%22Ada%22%2C%22size%22%3A5%2C%22tags%22%3A%5B%22a%22%2C%22b%22%5D%2C%22where%22%3A%7B%22city%22%3A%22Rome%22%2C%22zip%22%3A123%7D%7D&size=1`
	if err != nil || string(form.Body) != sent {
		t.Errorf("got %s, %v", form.Body, err)
	}
	form, err = client.PostFormWithFormdataBodyWithResponse(ctx, Thing{Name: "Ada", Tags: &[]string{"long"}})
	if err != nil || form.StatusCode() != 400 {
		t.Errorf("got %+v, %v", form, err)
	}
	stream, err := client.PostStreamWithBodyWithResponse(ctx, "application/octet-stream", strings.NewReader("\x00\xff"))
	if err != nil || string(stream.Body) != "\x00\xff" {
		t.Errorf("got %+v, %v", stream, err)
	}
}

func TestParts_areCheckedByMediaType(t *testing.T) {
	client := serve(t)
	for media, want := range map[string]int{"video/mp4": 200, "image/png": 400} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.WriteField("title", "Ada")
		part, _ := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="file"; filename="a.mp4"`}, "Content-Type": {media},
		})
		_, _ = part.Write([]byte("\x00"))
		_ = w.Close()
		parts, err := client.PostPartsWithBodyWithResponse(t.Context(), w.FormDataContentType(), &body)
		if err != nil || parts.StatusCode() != want || want == 200 && !bytes.Contains(parts.Body, []byte("title=Ada file=\x00")) {
			t.Errorf("%s: got %d %s, %v", media, parts.StatusCode(), parts.Body, err)
		}
	}
}
