package encode_test

import (
	"encoding/json"
	"errors"
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

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
	"github.com/avatarstudio/avatarstudio/gen"
)

type (
	text  string
	texts []text
	inner struct {
		A text `json:"a"`
	}
	same  inner
	video struct {
		Video *string `json:"video"`
	}
	quoted struct {
		N int `json:"n,string"`
	}
	unnamed struct {
		Named string
		inner
	}
	upper struct{ Text string }
)

func (u upper) MarshalJSON() ([]byte, error) { return json.Marshal("<" + u.Text) }

type lower struct{ Text string }

func (l *lower) MarshalJSON() ([]byte, error) { return json.Marshal(">" + l.Text) }

func TestJSON_callsMethodsOfPointers(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{`"\u003ea"`: lower{"a"}, `{"b":"\u003e"}`: map[string]lower{"b": {}}} {
		if got, err := encode.JSON(value); string(got) != want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// all has a field of each kind.
type all struct {
	Quoted string              `json:"<&"`
	Small  int8                `json:"small"`
	Large  uint64              `json:"large"`
	Single float32             `json:"single"`
	Double float64             `json:"double,omitempty"`
	Yes    bool                `json:"yes,omitempty"`
	Texts  texts               `json:"texts,omitempty"`
	Lists  [][]int             `json:"lists"`
	Bytes  []byte              `json:"bytes"`
	Pair   [2]int              `json:"pair"`
	Map    map[string]inner    `json:"map"`
	Ints   map[int]string      `json:"ints"`
	Any    any                 `json:"any,omitempty"`
	Same   same                `json:"same"`
	Inner  *inner              `json:"inner,omitempty"`
	Upper  upper               `json:"upper"`
	Uppers []upper             `json:"uppers"`
	Other  unnamed             `json:"other"`
	Number quoted              `json:"number"`
	Video  video               `json:"video"`
	At     time.Time           `json:"at,omitzero"`
	Given  gen.Nullable[texts] `json:"given,omitzero"`
	Null   gen.Nullable[inner] `json:"null"`
	Within struct {
		X *int `json:"x"`
	} `json:"within"`
	Raw    json.RawMessage `json:"raw"`
	Digits json.Number     `json:"digits"`
	Free   json.RawMessage `json:"free,omitempty"`
	Left   string          `json:"-"`
	Bare   string
}

// open keeps other members.
type open struct {
	Name   gen.Nullable[string]       `json:"name,omitzero"`
	Size   int                        `json:"size,omitempty"`
	Tags   []string                   `json:"tags,omitempty"`
	Others *inner                     `json:"inner,omitempty"`
	Text   string                     `json:"a"`
	Kept   map[string]json.RawMessage `json:"-"`

	AdditionalProperties map[string]json.RawMessage `json:"-"`
}

// Values are encoded like encoding/json does, whether they have an address or not. The members of an open object are
// encoded like those of a map.
func FuzzJSON(f *testing.F) {
	for seed := range uint64(256) {
		f.Add(seed, "<a href=\"\\\">\u2028\u2029&\x00\x1f\b\f\n\r\t\x7f\xffé😀")
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		made := maker{rand.New(rand.NewPCG(seed, 1)), text}
		var one all
		made.fill(reflect.ValueOf(&one).Elem())
		compare(t, one, one)
		compare(t, &one, &one)
		var object open
		made.fill(reflect.ValueOf(&object).Elem())
		compare(t, object, object.members())
		compare(t, &object, object.members())
	})
}

func compare(t *testing.T, value, standard any) {
	t.Helper()
	want, wantErr := json.Marshal(standard)
	got, err := encode.JSON(value)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%v, encoding/json: %v", err, wantErr)
	}
	if diff := cmp.Diff(string(want), string(got)); err == nil && diff != "" {
		t.Fatalf("-encoding/json +encode:\n%s", diff)
	}
}

func (o open) members() map[string]any {
	members := map[string]any{"a": o.Text, "size": o.Size}
	for name, value := range o.AdditionalProperties {
		if _, known := members[name]; !known {
			members[name] = value
		}
	}
	if !o.Name.IsZero() {
		members["name"] = o.Name
	}
	if o.Tags != nil {
		members["tags"] = o.Tags
	}
	if o.Others != nil {
		members["inner"] = o.Others
	}
	return members
}

// maker makes values of any type from the input of a fuzz test.
type maker struct {
	*rand.Rand

	text string
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
	case json.Number:
		v.SetString([]string{"9007199254740993", "1.50", ""}[m.IntN(3)])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.string())
	case reflect.Bool:
		v.SetBool(m.IntN(2) == 0)
	case reflect.Int, reflect.Int8:
		v.SetInt(int64(m.Uint64()))
	case reflect.Uint64:
		v.SetUint(m.Uint64())
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, 42.5, 1e-7, 1e21, 1e-6, 123456789e13, -1e15, 1 << 53, math.Copysign(0, -1), math.Float64frombits(m.Uint64())}[m.IntN(11)])
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{m.string(), 1.5, map[string]any{"b": texts{}, "a": nil}, &inner{"a"}}[m.IntN(4)]))
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
	case reflect.Array:
		m.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range m.IntN(4) {
			name, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			m.fill(name)
			m.fill(value)
			if m.IntN(3) == 0 && name.Kind() == reflect.String {
				name.SetString([]string{"name", "size", "b", "zz"}[m.IntN(4)])
			}
			v.SetMapIndex(name, value)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				m.fill(field)
			}
		}
	case reflect.Uint8:
		v.SetUint(7)
	default:
		panic("cannot fill " + v.Type().String())
	}
}

// raw returns JSON that is valid most of the time.
func (m maker) raw() json.RawMessage {
	text, _ := json.Marshal(m.string()) // strings always marshal
	return []json.RawMessage{text, json.RawMessage("{ \"a\" : [ 1 , \"<\u2028>\" ] }"), json.RawMessage("null"), nil, json.RawMessage("5"), json.RawMessage("[1")}[m.IntN(5+m.IntN(2)*m.IntN(2)*m.IntN(2))]
}

// string returns a part of the input.
func (m maker) string() string {
	from := m.IntN(len(m.text) + 1)
	return m.text[from : from+m.IntN(len(m.text)-from+1)]
}

// tree has a slice in every place of a struct that can contain one.
type tree struct {
	Needed  []string             `json:"needed"`
	Bytes   []byte               `json:"bytes"`
	Map     map[string]tree      `json:"map"`
	Wanted  []tree               `json:"wanted,omitempty"`
	Pointer *tree                `json:"pointer,omitempty"`
	Null    *[]string            `json:"null"`
	Raw     json.RawMessage      `json:"raw"`
	Given   gen.Nullable[[]tree] `json:"given,omitzero"`
	Any     any                  `json:"any,omitempty"`
}

func TestJSON_writesNilSlicesAsEmptyArrays(t *testing.T) {
	t.Parallel()
	made := func() tree {
		return tree{
			Needed: []string{"a"}, Map: map[string]tree{"b": {}, "a": {Needed: []string{"b"}}}, Wanted: []tree{{}, {}},
			Pointer: &tree{Wanted: []tree{}}, Given: gen.Value[[]tree](nil), Any: []int(nil),
		}
	}
	const empty = `"needed":[],"bytes":"","map":{}`
	const rest = `,"null":null,"raw":null}`
	want := `{"needed":["a"],"bytes":"","map":{"a":{"needed":["b"],"bytes":"","map":{}` + rest + `,"b":{` + empty + rest + `},` +
		`"wanted":[{` + empty + rest + `,{` + empty + rest + `],"pointer":{` + empty + rest + `,"null":null,"raw":null,"given":[],"any":[]}`
	value := made()
	for _, value := range []any{value, &value} {
		if got, err := encode.JSON(value); err != nil || string(got) != want {
			t.Errorf("%T: got  %s, %v\nwant %s", value, got, err, want)
		}
	}
	recorder := httptest.NewRecorder()
	err := gen.ListProjects200JSONResponse{}.VisitListProjectsResponse(recorder)
	if got := recorder.Body.String(); err != nil || got != `{"data":[],"size":0,"unpublished_projects":0}`+"\n" {
		t.Errorf("a generated response: got %s, %v", got, err)
	}
	if diff := cmp.Diff(made(), value); diff != "" {
		t.Errorf("the value was changed (-before +after):\n%s", diff)
	}
}

// union is a union with members of its own, and other members.
type union struct {
	List []int   `json:"list"`
	Name *string `json:"name,omitempty"`

	AdditionalProperties map[string]any `json:"-"`
	union                json.RawMessage
}

func (union) MarshalJSON() ([]byte, error) { return nil, errors.New("called") }

func TestJSON_hasTheMembersOfAUnion(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]union{
		`{"list":[]}`:                              {},
		`{"b":1.00,"list":[]}`:                     {union: json.RawMessage(`{"b":1.00,"list":[5]}`)},
		`{"a":2,"b":1,"list":[7],"name":"n"}`:      {List: []int{7}, Name: new("n"), union: json.RawMessage(`{"b":1}`), AdditionalProperties: map[string]any{"a": 2}},
		`{"list":[],"name":{"x":null},"other":""}`: {union: json.RawMessage(`{"other":"","name":{"x":null}}`)},
	} {
		if got, err := encode.JSON(value); string(got) != want || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	for _, invalid := range []union{{union: json.RawMessage(`[1]`)}, {AdditionalProperties: map[string]any{"a": math.Inf(1)}}} {
		if got, err := encode.JSON(invalid); err == nil {
			t.Errorf("an array with members, or an infinite one: %s", got)
		}
	}
}

func TestJSON_endsForNilAndForAValueThatContainsItself(t *testing.T) {
	t.Parallel()
	type list []list
	pointers, lists, anything, members := &tree{}, make(list, 2), make([]any, 2), map[string]any{}
	pointers.Pointer, lists[0], lists[1], anything[0], anything[1], members["a"] = pointers, lists, lists, &anything, anything, members
	for _, cycle := range []any{pointers, lists, anything, members} {
		if _, err := encode.JSON(cycle); err == nil {
			t.Errorf("%T: no error", cycle)
		}
	}
	if _, err := encode.JSON(slices.Repeat([]any{&tree{}}, 20_000)); err != nil {
		t.Errorf("many values beside each other: %v", err)
	}
	for _, value := range []any{nil, (*tree)(nil), (*gen.Nullable[string])(nil), (*time.Time)(nil)} {
		if got, err := encode.JSON(value); string(got) != "null" || err != nil {
			t.Errorf("%T: %s, %v", value, got, err)
		}
	}
}

func TestSend_sendsNothingAfterAnError(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	long := strings.Repeat("a", 1<<17)
	for name, c := range map[string]struct {
		body    any
		headers error
		want    string
	}{
		"nothing fails":   {body: inner{"b"}, want: `{"a":"b"}` + "\n"},
		"a long body":     {body: long, want: `"` + long + `"` + "\n"},
		"the body fails":  {body: math.Inf(1)},
		"a header fails":  {body: inner{}, headers: failed},
		"both of them do": {body: func() {}, headers: failed},
	} {
		recorder := httptest.NewRecorder()
		err := encode.Send(recorder, http.StatusAccepted, "application/json", c.body, func(h http.Header) error {
			if c.headers == nil {
				h.Set("X-A", "a")
			}
			return c.headers
		})
		if (err == nil) != (c.want != "") || recorder.Body.String() != c.want {
			t.Errorf("%s: got %s, error %v", name, recorder.Body, err)
		}
		sent := slices.Sorted(maps.Keys(recorder.Header()))
		if c.want == "" && len(sent) > 0 || c.want != "" && (recorder.Code != http.StatusAccepted || !slices.Equal(sent, []string{"Content-Type", "X-A"})) {
			t.Errorf("%s: status %d, headers %v", name, recorder.Code, sent)
		}
	}
}
