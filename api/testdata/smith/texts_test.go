package smith

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
)

// texts are values in JSON that a reader could take for nothing, or for another value.
var texts = strings.Split(`""|"null"|null|"a"|"true"|"0"|" "|","|"a,b"|"a b"|"a.b"|"a."|"%"|"\""|"é"|"[]"|"\"\""|"."|".."|[]|[""]|["null"]|["a"]|["",""]|["a",""]|["","a"]|[null]|`+
	`[","]|["a,b","c"]|[" "]|["a ","b"]|["\"a\""]|{}|{"":""}|{"a":""}|{"a":"null"}|{"a":null}|{"a":"b","c":""}|[{}]|[{"a":""}]|[{"a":"null"}]|[[]]|[[""]]|[["null"]]`, "|")

// Each of the texts arrives unchanged in each place of testdata/texts that allows it, or the client refuses it by the
// name of its place.
func TestTexts_arriveOrAreRefusedByName(t *testing.T) {
	t.Parallel()
	e := newExchange(t)
	e.each("/texts/", func(o operation) {
		usual := sample{parameters: object{}}
		for _, p := range e.parameters(o) {
			if p.required {
				usual.parameters[p.at] = e.usual(p.schema)
			}
		}
		content, _ := e.content(o)
		fields := object{}
		for media := range content {
			usual.media = media
			if described := e.resolve(e.schemaOf(media, content[media])); media == urlencoded {
				for _, name := range list(described["required"]) {
					fields[name.(string)] = e.usual(described["properties"].(object)[name.(string)])
				}
			}
		}
		for _, p := range e.parameters(o) {
			e.callEach(p.name, p.schema, func(value any) {
				s := usual
				s.place, s.parameters = p.name, maps.Clone(s.parameters)
				s.parameters[p.at] = value
				e.call(o, s)
			})
		}
		switch schema := e.schemaOf(usual.media, content[usual.media]); usual.media {
		case "":
			for i := 0; i < *values && o.method == http.MethodGet; i++ { // random responses
				e.call(o, usual)
			}
		case urlencoded:
			for name, field := range schema.(object)["properties"].(object) {
				e.callEach(name, field, func(value any) {
					s := usual
					s.place, s.body = name, maps.Clone(fields)
					s.body.(object)[name] = value
					e.call(o, s)
				})
			}
			if len(fields) == 0 { // an empty form is none if it is optional
				usual.place, usual.body = "body", object{}
				e.call(o, usual)
			}
		default:
			e.callEach("body", schema, func(value any) {
				s := usual
				s.place, s.body = "body", value
				e.call(o, s)
			})
		}
	})
}

// usual returns one of the texts that has only one meaning.
func (e *exchange) usual(schema any) any {
	for _, text := range []string{`"a"`, `["a"]`, `{"a":"b","c":""}`} {
		if value := parse([]byte(text)); e.validate(schema, inRequest, value) == nil {
			return value
		}
	}
	e.Fatalf("no text fits %s", encoded(schema))
	return nil
}

// callEach calls send with each of the texts that a schema allows. In Go, null is absent, and so are members
// that the schema does not name.
func (e *exchange) callEach(place string, schema any, send func(value any)) {
	properties, _ := schema.(object)["properties"].(object)
	const sent = "sent by the client"
	n, before := 0, e.counts[sent]
	for _, text := range texts {
		value := parse([]byte(text))
		members, _ := value.(object)
		isUnknown := func(name string) bool { return properties != nil && properties[name] == nil }
		if value == nil || e.validate(schema, inRequest, value) != nil || slices.ContainsFunc(slices.Collect(maps.Keys(members)), isUnknown) {
			continue
		}
		send(value)
		n++
	}
	if n < 3 || e.counts[sent] == before {
		e.Errorf("%s has %d values, and the client sends %d", place, n, e.counts[sent]-before)
	}
}

// A form of a response is written like that of a request.
func TestTexts_formsOfResponses(t *testing.T) {
	t.Parallel()
	e := newExchange(t)
	form := gen.PutResponseTexts200FormdataResponse{Headers: gen.PutResponseTexts200ResponseHeaders{XText: "a"}}
	harness.Check(t, json.Unmarshal([]byte(`{"text":"","list":["a",""],"flat":["b","c"],"jsons":[null,""],"rows":[{"a":""},{}],"lists":[[]]}`), &form.Body))
	e.service.response = form
	body := harness.Try(e.client.PutResponseTexts(t.Context()))(t)
	text, err := io.ReadAll(body)
	harness.Check(t, errors.Join(err, body.Close()))
	got, err := url.QueryUnescape(string(text))
	if want := `flat=b,c&jsons=[null,""]&list=a&list=&lists=[]&rows={"a":""}&rows={}&text=`; err != nil || got != want {
		t.Errorf("the form is %s, %v", got, err)
	}
}
