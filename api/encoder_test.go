package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/gen"
)

// answers returns a response of every type: all successes in JSON, an error, and a response with headers.
func answers() []any {
	return []any{
		gen.ListProjects200JSONResponse{},
		gen.Login200JSONResponse{},
		gen.RefreshTokens200JSONResponse{},
		gen.GetAvatar200JSONResponse{},
		gen.CreateAvatar200JSONResponse{},
		gen.CreateVideo200JSONResponse{},
		gen.GetVideo200JSONResponse{},
		gen.ListAvatars200JSONResponse{},
		gen.ListVideos200JSONResponse{},
		gen.SubmitConsent200JSONResponse{},
		gen.CreateLipsync200JSONResponse{},
		gen.GetLipsync200JSONResponse{},
		gen.ListLipsyncs200JSONResponse{},
		gen.UploadMedia201JSONResponse{},
		gen.RotateWebhookSecret200JSONResponse{},
		gen.GetWebhookSecrets200JSONResponse{},
		gen.TestWebhook200JSONResponse{},
		gen.CreateLipsync400ApplicationProblemPlusJSONResponse{},
		gen.CreateLipsync401ApplicationProblemPlusJSONResponse{},
	}
}

// FuzzEncoders compares the generated encoders with encoding/json.
func FuzzEncoders(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, "<a href=\"\\\">\u2028\u2029&\x00\x1f\b\f\n\r\t\x7f\xffé😀")
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		maker := maker{rand.New(rand.NewPCG(seed, 1)), text}
		for _, answer := range answers() {
			made := reflect.New(reflect.TypeOf(answer)).Elem()
			maker.fill(made)
			recorder := httptest.NewRecorder()
			err := visit(made, recorder)
			body := made
			if field := made.FieldByName("Body"); field.IsValid() {
				body = field
			}
			var want bytes.Buffer
			if wantErr := json.NewEncoder(&want).Encode(body.Interface()); (wantErr != nil) != (err != nil) {
				t.Fatalf("%T: %v, encoding/json: %v", answer, err, wantErr)
			} else if err != nil {
				want.Reset()
			}
			if diff := cmp.Diff(want.String(), recorder.Body.String()); diff != "" {
				t.Fatalf("%T (-encoding/json +generated):\n%s", answer, diff)
			}
		}
		maker.compareRequest(t, &gen.CreateAvatarRequest{})
		maker.compareRequest(t, &gen.CreateVideoRequest{})
		maker.compareRequest(t, &gen.CreateLipsyncRequest{})
	})
}

// visit calls the method that writes a response.
func visit(answer reflect.Value, w http.ResponseWriter) error {
	t := answer.Type()
	for i := range t.NumMethod() {
		if strings.HasPrefix(t.Method(i).Name, "Visit") {
			err, _ := reflect.TypeAssert[error](answer.Method(i).Call([]reflect.Value{reflect.ValueOf(w)})[0])
			return err
		}
	}
	panic("no method of " + t.String())
}

// maker makes values of any type from the input of a fuzz test.
type maker struct {
	*rand.Rand

	text string
}

// compareRequest compares the JSON of a request that keeps unknown members with the JSON of a map of all
// its members.
func (m maker) compareRequest(t *testing.T, request any) {
	t.Helper()
	m.fill(reflect.ValueOf(request).Elem())
	want, wantErr := json.Marshal(membersOf(reflect.ValueOf(request).Elem()))
	got, err := json.Marshal(request)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%T: %v, encoding/json: %v", request, err, wantErr)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%T (-encoding/json +generated):\n%s", request, diff)
	}
}

// membersOf returns the known and unknown members of a request.
func membersOf(v reflect.Value) map[string]any {
	members := make(map[string]any)
	for name, value := range v.FieldByName("AdditionalProperties").Interface().(map[string]json.RawMessage) {
		members[name] = value
	}
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		zero, ok := reflect.TypeAssert[interface{ IsZero() bool }](v.Field(i))
		if name == "-" || options == "omitzero" && ok && zero.IsZero() {
			continue
		}
		members[name] = v.Field(i).Interface()
	}
	return members
}

func (m maker) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		zone := time.FixedZone("", m.IntN(2)*(m.IntN(48*3600)-24*3600))
		v.Set(reflect.ValueOf(time.Unix(m.Int64N(1<<40)-1<<38, m.Int64N(1e9)*m.Int64N(2)).In(zone)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(m.raw()))
		return
	case map[string]json.RawMessage:
		others := map[string]json.RawMessage{"title": m.raw(), "zz": m.raw(), m.string(): m.raw()}
		maps.DeleteFunc(others, func(string, json.RawMessage) bool { return m.IntN(2) == 0 })
		v.Set(reflect.ValueOf(others))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.string())
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(m.Uint64()))
	case reflect.Float64:
		v.SetFloat(slices.Concat([]float64{0, 1, 42.5, 1e-7, 1e21, 1e-6, 123456789e13, math.Copysign(0, -1)}, []float64{math.Float64frombits(m.Uint64())})[m.IntN(9)])
	case reflect.Pointer:
		if m.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), m.IntN(3), 3))
		for i := range v.Len() {
			m.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "Headers" {
				m.fill(v.Field(i))
			}
		}
	default:
		panic("cannot fill " + v.Type().String())
	}
}

// raw returns JSON that is valid most of the time.
func (m maker) raw() json.RawMessage {
	text, _ := json.Marshal(m.string()) // strings always marshal
	return []json.RawMessage{text, json.RawMessage("{ \"a\" : [ 1 , \"<\u2028>\" ] }"), json.RawMessage("null"), nil, json.RawMessage("5"), json.RawMessage("[1")}[m.IntN(5+m.IntN(2)*m.IntN(2))]
}

// string returns a part of the input.
func (m maker) string() string {
	from := m.IntN(len(m.text) + 1)
	return m.text[from : from+m.IntN(len(m.text)-from+1)]
}
