// Package roundtrip sends values from the generated client to the generated server and back. TestRoundTrip of package
// api compiles and runs it in a copy of the module whose document has the paths, responses and schemas beside this
// file.
package roundtrip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// service returns what it receives.
type service struct {
	server.Unimplemented
	got     any // the last request
	headers gen.GetHeaders204ResponseHeaders
}

func (s *service) PutThing(_ context.Context, r gen.PutThingRequestObject) (gen.PutThingResponseObject, error) {
	return gen.PutThing200JSONResponse(*r.Body), nil
}

func (s *service) PatchThing(_ context.Context, r gen.PatchThingRequestObject) (gen.PatchThingResponseObject, error) {
	s.got = *r.Body
	return gen.PatchThing200ApplicationVndThingPlusJSONResponse{Free: json.RawMessage("1")}, nil
}

func (s *service) PutText(_ context.Context, r gen.PutTextRequestObject) (gen.PutTextResponseObject, error) {
	return gen.PutText200TextJSONPlusJSONResponse(*r.Body), nil
}

func (s *service) PatchVersion(_ context.Context, r gen.PatchVersionRequestObject) (gen.PatchVersionResponseObject, error) {
	s.got = r
	return gen.PatchVersion204Response{}, nil
}

func (s *service) PutBody(_ context.Context, r gen.PutBodyRequestObject) (gen.PutBodyResponseObject, error) {
	var pair gen.Pair
	switch {
	case r.Status >= 400:
		return gen.PutBodydefaultApplicationProblemPlusJSONResponse{Body: gen.Problem{Type: "about:blank", Title: "Not Found", Status: int32(r.Status)}, StatusCode: r.Status}, nil
	case r.JSONBody != nil:
		pair = *r.JSONBody
	case r.TextBody != nil:
		pair.Name = "text " + *r.TextBody
	case r.Body != nil:
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		pair.Name = r.ContentType + " " + string(text)
	default:
		return gen.PutBody202Response{Headers: gen.PutBody202ResponseHeaders{Location: "/later", XCount: new(7)}}, nil
	}
	return gen.PutBody2XXJSONResponse{Body: pair, StatusCode: r.Status}, nil
}

func (s *service) PostForm(_ context.Context, r gen.PostFormRequestObject) (gen.PostFormResponseObject, error) {
	s.got = r.Body
	return gen.PostForm204Response{}, nil
}

func (s *service) GetHeaders(context.Context, gen.GetHeadersRequestObject) (gen.GetHeadersResponseObject, error) {
	return gen.GetHeaders204Response{Headers: s.headers}, nil
}

func (s *service) PutTags(_ context.Context, r gen.PutTagsRequestObject) (gen.PutTagsResponseObject, error) {
	s.got = r.Body
	return gen.PutTags204Response{}, nil
}

func (s *service) PutTime(_ context.Context, r gen.PutTimeRequestObject) (gen.PutTimeResponseObject, error) {
	s.got = r
	return gen.PutTime200TextResponse(*r.Body), nil
}

func (s *service) GetWhole(_ context.Context, r gen.GetWholeRequestObject) (gen.GetWholeResponseObject, error) {
	if r.Params.Status != nil {
		return gen.GetWhole202JSONResponse{Free: json.RawMessage("1")}, nil
	}
	return gen.GetWhole200JSONResponse{Name: r.Params.Style + r.Params.Response + r.Params.Result + r.Params.Decode + r.Params.Operations}, nil
}

func (s *service) PutNull(_ context.Context, r gen.PutNullRequestObject) (gen.PutNullResponseObject, error) {
	s.got = r.Body
	return gen.PutNull204Response{}, nil
}

func (s *service) PutFree(_ context.Context, r gen.PutFreeRequestObject) (gen.PutFreeResponseObject, error) {
	return gen.PutFree200JSONResponse(*r.Body), nil
}

func (s *service) PutTimeRoot(_ context.Context, r gen.PutTimeRootRequestObject) (gen.PutTimeRootResponseObject, error) {
	return gen.PutTimeRoot200JSONResponse(*r.Body), nil
}

func (s *service) PutDate(_ context.Context, r gen.PutDateRequestObject) (gen.PutDateResponseObject, error) {
	return gen.PutDate200JSONResponse{Body: *r.Body}, nil
}

func (s *service) PutList(_ context.Context, r gen.PutListRequestObject) (gen.PutListResponseObject, error) {
	return gen.PutList200JSONResponse(*r.Body), nil
}

func (s *service) GetUnion(context.Context, gen.GetUnionRequestObject) (gen.GetUnionResponseObject, error) {
	var union gen.UnionBody
	err := union.FromPair(gen.Pair{Name: "n"})
	return gen.Union200JSONResponse{UnionJSONResponse: gen.UnionJSONResponse(union)}, err
}

func (s *service) FindThings(_ context.Context, r gen.FindThingsRequestObject) (gen.FindThingsResponseObject, error) {
	s.got = r.Params
	if r.Params.Filter == nil {
		return gen.FindThings200JSONResponse{Name: "none"}, nil
	}
	return gen.FindThings200JSONResponse(*r.Params.Filter), nil
}

func (s *service) PutPet(_ context.Context, r gen.PutPetRequestObject) (gen.PutPetResponseObject, error) {
	s.got, _ = r.Body.ValueByDiscriminator()
	return gen.PutPet200JSONResponse(*r.Body), nil
}

func (s *service) GetFile(_ context.Context, r gen.GetFileRequestObject) (gen.GetFileResponseObject, error) {
	return gen.GetFile200TextResponse("file " + r.ID), nil
}

func (s *service) CheckFile(_ context.Context, r gen.CheckFileRequestObject) (gen.CheckFileResponseObject, error) {
	return gen.CheckFile200TextResponse("check " + r.ID), nil
}

func start(t *testing.T) (*service, *client.Client, *httptest.Server) {
	t.Helper()
	s := &service{}
	handler, err := server.New(s, server.Config{
		ValidateResponses: server.ResponsesEnforced,
		Authenticator:     server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, nil }),
	})
	check(t, err)
	listener := httptest.NewServer(handler)
	t.Cleanup(listener.Close)
	c, err := client.New(client.Config{BaseURL: listener.URL})
	check(t, err)
	return s, c, listener
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// encoded returns the JSON of a value.
func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	check(t, err)
	return string(text)
}

func TestValues_areKept(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	for _, text := range []string{
		`{"free":9007199254740993,"number":16777217}`,
		`{"byte":255,"free":{"a":[1.00,123456789012345678901234567890]},"number":1e+300,"single":1.5}`,
		`{"free":null}`,
		`{"either":"5","free":1,"list":[9007199254740993,"a",null,{}],"members":{"a":9007199254740993,"b":null}}`,
		`{"either":9007199254740993,"free":""}`,
		`{"either":null,"free":[]}`,
		`{"duration":"P1Y2M3DT99999999999999999999H","free":false}`,
		`{"free":0,"mood":9007199254740993,"scores":{"a":1e-300,"best":0.1,"z":3}}`,
	} {
		var thing gen.Thing
		check(t, json.Unmarshal([]byte(text), &thing))
		if got := encoded(t, thing); got != text {
			t.Errorf("%s is decoded as %s", text, got)
		}
		got, err := c.PutThing(t.Context(), thing)
		check(t, err)
		if got := encoded(t, got); got != text {
			t.Errorf("sent %s, got %s", text, got)
		}
	}
}

func TestValues_thatCannotBeHeldAreRefused(t *testing.T) {
	t.Parallel()
	_, _, listener := start(t)
	for text, pointer := range map[string]string{
		`{"free":1,"number":1e400}`:               "/number",
		`{"free":1,"single":1e300}`:               "/single",
		`{"free":1,"byte":256}`:                   "/byte",
		`{"free":1,"byte":-0}`:                    "/byte",
		`{"free":1,"scores":{"best":1e400}}`:      "/scores/best",
		`{"free":1,"mood":9007199254740992}`:      "/mood",
		`{"free":1,"either":9223372036854775808}`: "/either",
	} {
		request := httptest.NewRequest("PUT", listener.URL+"/roundtrip/things", strings.NewReader(text))
		request.RequestURI = ""
		request.Header.Set("Content-Type", "application/json")
		response, err := listener.Client().Do(request)
		check(t, err)
		var problem gen.Problem
		check(t, json.NewDecoder(response.Body).Decode(&problem))
		check(t, response.Body.Close())
		if response.StatusCode != 400 || problem.Errors == nil || len(*problem.Errors) != 1 || (*problem.Errors)[0].Pointer != pointer {
			t.Errorf("%s: status %d, errors %s", text, response.StatusCode, encoded(t, problem.Errors))
		}
	}
}

// A parameter in JSON arrives as it is, beside cookies.
func TestParameters_areJSON(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	for _, params := range []client.FindThingsParams{{}, {Filter: &gen.Pair{Name: "+&=#ü%20"}, Color: &[]string{"a%20b", "c"}}} {
		_, err := c.FindThings(t.Context(), params)
		check(t, err)
		if got, ok := s.got.(gen.FindThingsParams); !ok || !reflect.DeepEqual(got.Filter, params.Filter) || !reflect.DeepEqual(got.Color, params.Color) {
			t.Errorf("sent %s, got %s", encoded(t, params), encoded(t, s.got))
		}
	}
}

// A path value calls no other operation, whatever characters it has.
func TestPathValues_callTheirOperation(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	for _, id := range []string{"a", "a:check", ":check", "a/b", "a b+c", "%2F", "..a", "...", "é:", "a.b@c"} {
		if got, err := c.GetFile(t.Context(), id); err != nil || got != "file "+id {
			t.Errorf("getFile %q: got %q, %v", id, got, err)
		}
		if got, err := c.CheckFile(t.Context(), id); err != nil || got != "check "+id {
			t.Errorf("checkFile %q: got %q, %v", id, got, err)
		}
	}
	for _, id := range []string{"", ".", ".."} {
		if got, err := c.GetFile(t.Context(), id); err == nil || errors.As(err, new(*client.Error)) {
			t.Errorf("getFile %q: got %q, %v", id, got, err)
		}
	}
}

// A value that no mapping names, or none, has the type of defaultMapping, and is not changed.
func TestUnions_haveADefault(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	for text, want := range map[string]any{
		`{"kind":"cat","lives":9}`:    gen.Cat{Kind: "cat", Lives: new(9)},
		`{"kind":"bird","name":"Bo"}`: gen.OtherPet{Kind: new("bird"), Name: "Bo"},
		`{"name":"Bo"}`:               gen.OtherPet{Name: "Bo"},
	} {
		var pet gen.Pet
		check(t, json.Unmarshal([]byte(text), &pet))
		got, err := c.PutPet(t.Context(), pet)
		check(t, err)
		if encoded(t, got) != text || !reflect.DeepEqual(s.got, want) {
			t.Errorf("%s: got %#v, and the result %s", text, s.got, encoded(t, got))
		}
	}
	var pet gen.Pet
	check(t, pet.FromOtherPet(gen.OtherPet{Kind: new("bird"), Name: "Bo"}))
	if got := encoded(t, pet); got != `{"kind":"bird","name":"Bo"}` {
		t.Errorf("got %s", got)
	}
}

func TestNull_reachesTheHandlerInEachJSONMediaType(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	for _, patch := range []gen.ThingPatch{
		{},
		{Title: gen.Null[string](), Count: gen.Value(0)},
		{Title: gen.Value(""), Count: gen.Null[int](), Inner: gen.Null[gen.ThingPatchInner]()},
		{Inner: gen.Value(gen.ThingPatchInner{A: gen.Null[string]()})},
	} {
		_, err := c.PatchThing(t.Context(), patch)
		check(t, err)
		if got := encoded(t, s.got); got != encoded(t, patch) {
			t.Errorf("sent %s, got %s", encoded(t, patch), got)
		}
		got, err := c.PutText(t.Context(), patch)
		check(t, err)
		if encoded(t, got) != encoded(t, patch) {
			t.Errorf("sent %s, got %s", encoded(t, patch), encoded(t, got))
		}
	}
	check(t, c.PatchVersion(t.Context(), gen.PatchVersionApplicationJSONVersion1RequestBody{One: gen.Null[int]()}))
	got, ok := s.got.(gen.PatchVersionRequestObject)
	if !ok || got.ApplicationJSONVersion1Body == nil || !got.ApplicationJSONVersion1Body.One.Null || got.ApplicationJSONVersion2Body != nil {
		t.Errorf("got %s", encoded(t, s.got))
	}
}

// A body is decoded by its media type, and a response has the most specific declaration of its status.
func TestBodies_haveTheirMediaTypeAndStatus(t *testing.T) {
	t.Parallel()
	_, _, listener := start(t)
	for _, test := range []struct{ path, contentType, body, want string }{
		{"201", "application/json", `{"name":"Ada"}`, `201 {"name":"Ada"}`},
		{"200", "text/plain", "Ada", `200 {"name":"text Ada"}`},
		{"200", "text/plain", "too long", "400 "},
		{"200", "video/mp4", "\x00", `200 {"name":"video/mp4 \u0000"}`},
		{"200", "image/png", "a", "415 "},
		{"200", "", "", "202 /later7"},
		{"404", "", "", `404 {"status":404,"title":"Not Found","type":"about:blank"}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, listener.URL+"/roundtrip/bodies/"+test.path, strings.NewReader(test.body))
		check(t, err)
		if test.contentType != "" {
			request.Header.Set("Content-Type", test.contentType)
		}
		response, err := listener.Client().Do(request)
		check(t, err)
		text, err := io.ReadAll(response.Body)
		check(t, errors.Join(err, response.Body.Close()))
		got := fmt.Sprint(response.StatusCode, " ", response.Header.Get("Location"), response.Header.Get("X-Count"), string(text))
		if !strings.HasPrefix(strings.TrimSpace(got), strings.TrimSpace(test.want)) {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}

func TestForm_thatIsNotSentDoesNotArrive(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	size := 1e300
	for _, form := range []*gen.Form{nil, {Name: "a b", Size: &size}, {}} {
		check(t, c.PostForm(t.Context(), form))
		if encoded(t, s.got) != encoded(t, form) {
			t.Errorf("sent %s, got %s", encoded(t, form), encoded(t, s.got))
		}
	}
}

func TestHeaders_areWrittenAndReadInTheirStyles(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	at, number, size := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), 1e300, gen.SizeLarge
	s.headers = gen.GetHeaders204ResponseHeaders{
		XList: &[]string{"a", "b c", ""}, XTimes: &[]time.Time{at, at}, XTime: at,
		XNumber: &number, XBytes: new([]byte("a,b")), XEnum: &size,
		XDate: &openapi_types.Date{Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)},
	}
	var response client.Response
	check(t, c.GetHeaders(t.Context(), client.WithResponse(&response)))
	for name, want := range map[string]string{
		"X-List": "a,b c,", "X-Time": "2026-01-02T03:04:05.000006Z", "X-Bytes": "YSxi", "X-Date": "2026-01-02",
	} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var read gen.GetHeaders204ResponseHeaders
	check(t, read.Decode(response.Header))
	if encoded(t, read) != encoded(t, s.headers) {
		t.Errorf("sent %s\ngot  %s", encoded(t, s.headers), encoded(t, read))
	}
	response.Header.Set("X-List", "a, b")
	check(t, read.Decode(response.Header))
	if !slices.Equal(*read.XList, []string{"a", "b"}) {
		t.Errorf("got %q", *read.XList)
	}
	response.Header.Set("X-Number", "many")
	if read.Decode(response.Header) == nil {
		t.Error("a text is decoded as a number")
	}
}

func TestHeaders_thatTheDocumentDoesNotAllowAreNotSent(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	for name, headers := range map[string]gen.GetHeaders204ResponseHeaders{
		"too long":         {XList: &[]string{"123456789"}},
		"with a comma":     {XList: &[]string{"a,b"}},
		"with a space":     {XList: &[]string{"a", " b"}},
		"only empty":       {XList: &[]string{""}},
		"with a line feed": {XList: &[]string{"a\nb"}},
	} {
		s.headers = headers
		if err := c.GetHeaders(t.Context(), client.WithRetry(client.Retry{Attempts: 1})); !errors.Is(err, client.ErrServer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.headers = gen.GetHeaders204ResponseHeaders{}
	check(t, c.GetHeaders(t.Context()))
}

func TestForm_keepsFieldsInTheirStyles(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	pair := gen.Pair{Name: "a&b", Count: new(1)}
	tags := gen.Tags2{Plain: &[]string{"a,b", "c"}, Comma: &[]string{"a,b", "c"}, JSON: &pair, Inner: &pair, Rows: &[]gen.Pair{pair, {Name: ""}}, X名前: new("é")}
	check(t, c.PutTags(t.Context(), tags))
	if encoded(t, s.got) != encoded(t, tags) {
		t.Errorf("sent %s\ngot  %s", encoded(t, tags), encoded(t, s.got))
	}
}

func TestText_isThatOfJSON(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	text, err := c.PutTime(t.Context(), "1/", "2", "3", "4", &at, client.PutTimeParams{Ctx: new("5")})
	check(t, err)
	if text != "2026-01-02T03:04:05.000006Z" {
		t.Errorf("got %s", text)
	}
	got, ok := s.got.(gen.PutTimeRequestObject)
	if !ok || got.RValue+got.ErrValue+got.StringValue+got.Params.Err+*got.Params.Ctx != "1/2345" || !got.Body.Equal(at) {
		t.Errorf("got %s", encoded(t, s.got))
	}
}

func TestResult_hasTheTypeOfItsStatus(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	result, err := c.GetWhole(t.Context(), "a", "b", "c", "d", "e")
	if err != nil || result.JSON200 == nil || result.JSON200.Name != "abcde" || result.JSON202 != nil {
		t.Errorf("got %+v, %v", result, err)
	}
	result, err = c.GetWhole(t.Context(), "a", "b", "c", "d", "e", client.GetWholeParams{Status: new(202)})
	if err != nil || result.StatusCode != 202 || result.JSON202 == nil || result.JSON200 != nil {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestNull_canBeTheBody(t *testing.T) {
	t.Parallel()
	s, c, _ := start(t)
	for _, body := range []*gen.PutNullJSONRequestBody{nil, {}, {A: new("a")}} {
		check(t, c.PutNull(t.Context(), body))
		if encoded(t, s.got) != encoded(t, body) {
			t.Errorf("sent %s, got %s", encoded(t, body), encoded(t, s.got))
		}
	}
}

func TestRoots_areKept(t *testing.T) {
	t.Parallel()
	_, c, _ := start(t)
	for _, text := range []string{`9007199254740993`, `"a"`, `null`, `{"a":[1.00]}`} {
		free, err := c.PutFree(t.Context(), json.RawMessage(text))
		if check(t, err); encoded(t, free) != text {
			t.Errorf("sent %s, got %s", text, encoded(t, free))
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	read, err := c.PutTimeRoot(t.Context(), at)
	if check(t, err); !read.Equal(at) {
		t.Errorf("got %v", read)
	}
	date, err := c.PutDate(t.Context(), openapi_types.Date{Time: at})
	if check(t, err); encoded(t, date) != `"2026-01-02"` {
		t.Errorf("got %s", encoded(t, date))
	}
	union, err := c.GetUnion(t.Context())
	check(t, err)
	if pair, err := union.AsPair(); err != nil || pair.Name != "n" {
		t.Errorf("got %+v, %v", pair, err)
	}
	list, err := c.PutList(t.Context(), []*float64{nil, new(1e300)})
	if check(t, err); encoded(t, list) != "[null,1e+300]" {
		t.Errorf("got %s", encoded(t, list))
	}
}
