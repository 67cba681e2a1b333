package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/gen"
)

// decode is the reference implementation. It decodes text with encoding/json into a map, and then each member into its
// field of the request, a pointer to a struct that keeps unknown members.
func decode(text []byte, request any) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	v := reflect.ValueOf(request).Elem()
	for field, value := range v.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if raw, ok := object[name]; ok && name != "-" {
			if err := json.Unmarshal(raw, value.Addr().Interface()); err != nil {
				return fmt.Errorf("error reading '%s': %w", name, err)
			}
			delete(object, name)
		}
	}
	if len(object) > 0 {
		v.FieldByName("AdditionalProperties").Set(reflect.ValueOf(object))
	}
	return nil
}

// requests returns the requests to decode into: some are zero, and some have values.
func requests() []json.Unmarshaler {
	text := gen.Value("before")
	return []json.Unmarshaler{
		&gen.CreateLipsyncRequest{},
		&gen.CreateVideoRequest{},
		&gen.CreateLipsyncRequest{
			Title: text, AudioURL: text, Webhook: gen.Value(gen.WebhookSwitch{Enabled: gen.Value(true)}),
			AdditionalProperties: map[string]json.RawMessage{"before": json.RawMessage("1")},
		},
		&gen.CreateVideoRequest{AvatarID: "before", Text: text},
		&gen.WebhookData{},
		&gen.WebhookSwitch{},
		&gen.WebhookSwitch{Enabled: gen.Value(true)},
	}
}

// checkDecoding compares the generated decoders with the reference implementation. encoding/json passes only valid JSON
// to a decoder, but a decoder must not panic on invalid JSON.
func checkDecoding(t *testing.T, text []byte) {
	t.Helper()
	want := requests()
	for i, got := range requests() {
		in := bytes.Clone(text)
		gotErr := got.UnmarshalJSON(in)
		if !json.Valid(text) {
			continue
		}
		wantErr := decode(text, want[i])
		if !bytes.Equal(in, text) {
			t.Errorf("%q: the decoder changed its input", text)
		}
		clear(in) // a decoder must not keep a reference to its input
		if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("%q: got %v, want %v", text, gotErr, wantErr)
		}
		if !reflect.DeepEqual(want[i], got) { // reflect.DeepEqual is much faster than cmp when the values are equal
			t.Errorf("%q (-want +got):\n%s", text, cmp.Diff(want[i], got))
		}
	}
}

var decodings = []string{
	`{}`, ` { } `, "\t{\r\n}\n", `null`, ` null `, `{"title":"a"}`, `{"title":null}`, `{"title":""}`, `{ "title" : "a" , "more" : 1 }`,
	`{"title":"é","more":"é","é":"é"}`, `{"\u0074itle":"a"}`, `{"t\u0069tle":"\u0061\n\"\\","a\"b\\c\u00e9":"}\"{"}`,
	`{"Title":"a","TITLE":1}`, `{"title":"a","title":"b"}`, `{"title":1,"title":"b"}`, `{"title":"a","title":1}`, `{"title":"a","title":null}`,
	`{"webhook":{"enabled":true},"webhook":{}}`, `{"webhook":null}`, `{"webhook":{"enabled":null}}`, `{"webhook":[]}`, `{"webhook":"no"}`,
	`{"webhook_data":{"webhook_url":"https://example.com/?a={[\"","x":[{}]}}`, `{"more":1,"more":2}`, `{"\u006dore":1,"more":2}`,
	`{"":1,"":"2"}`, `{"a":1,"b":-0.5e+10,"c":true,"d":false,"e":null,"f":[],"g":{}}`, `{"a": [ 1 , {"b" : [ "]" , "}" , "\"" ] } ] , "c":0 }`,
	`{"a":1 }`, `{"a":true}`, "{\"a\":\"\xff\",\"\xff\":1,\"\xfe\":2,\"title\":\"\xff\"}", `{"a":"\ud800","\ud800":1,"title":"\ud83d\ude00"}`,
	`{"avatar_id":"a","text":"b","audio_url":"c"}`, `{"avatar_id":null}`, `{"avatar_id":1}`, `{"title":"\u007f","text":"` + "\x7f" + `"}`,
	`{"enabled":true}`, `{"enabled":false,"webhook_url":"a","x":[1]}`, `{"enabled":"true"}`, `{"webhook_url":true}`, `{"webhook":{"enabled":false,"x":null}}`,
	`{"webhook":true}`, `{"webhook":1}`, `{"webhook_data":[{}]}`, `{"webhook":{"enabled":1}}`, `{"webhook": null ,"webhook_data" : { } }`,
	`[]`, `[1]`, `1`, `"a"`, `true`, ``, ` `, `{`, `}`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`,
	`{"a":[}`, `{"a":{]}`, `{"a":1]`, `{"a":"\`, `{"a":"\"}`, `{"\`, `{"\x":1}`, `{"a":tru}`, `{"a":01}`, `{"a":"` + "\n" + `"}`, `{"title":"` + "\t" + `"}`,
	`{} {}`, `{}x`, `nul`, `{a:1}`, `{'a':1}`, "\ufeff{}", `{"title":"a""more":1}`, `{"title":"a":"more",1}`, `{::,,"a":1}`, `{"title"}`, `{"title":"a`,
	`{"a":"` + strings.Repeat(`\n`, 1<<19) + `","title":"` + strings.Repeat(`\"`, 1<<19) + `"}`, // takes minutes unless decoding is linear
	strings.Repeat(`{"a":`, 20000), `{"a":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`,
}

func FuzzGenerated_decodesLikeReference(f *testing.F) {
	for _, text := range decodings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkDecoding(t, text) })
}
