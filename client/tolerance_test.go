package client_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// The generated types accept responses with unknown members and values, and without optional members, whoever decodes
// them.
func TestTolerance_ofEveryResponse(t *testing.T) {
	t.Parallel()
	for name, sample := range map[string]sample{
		"missing":               {empty: 1},
		"missing, nested":       {empty: 2},
		"missing, nested twice": {empty: 3},
		"null":                  {null: 1},
		"null, nested":          {null: 2},
		"null, nested twice":    {null: 3},
		"unknown":               {unknown: true},
		"unknown, and null":     {unknown: true, null: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			var body []byte
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(body)
				return true
			}
			c := s.direct(t, static)
			walked := 0
			receiver := reflect.ValueOf(c)
			for i := range receiver.NumMethod() {
				name, method := receiver.Type().Method(i).Name, receiver.Method(i)
				in := method.Type()
				if strings.HasPrefix(name, "Wait") || in.NumIn() == 0 || in.NumOut() != 2 {
					continue
				}
				returned := in.Out(0).Elem()
				if returned.PkgPath() != reflect.TypeFor[gen.Avatar]().PkgPath() {
					continue
				}
				var err error
				if body, err = json.Marshal(sample.of(returned, 1)); err != nil {
					t.Fatal(err)
				}
				arguments := []reflect.Value{reflect.ValueOf(t.Context())}
				for j := 1; j < in.NumIn()-1; j++ {
					argument := reflect.New(in.In(j)).Elem()
					if argument.Kind() == reflect.String {
						argument.SetString("a")
					}
					arguments = append(arguments, argument)
				}
				if err := method.Call(arguments)[1].Interface(); err != nil {
					t.Errorf("%s: %v: %s", name, err, body)
				}
				walked++
			}
			if walked < 10 {
				t.Errorf("%d answers", walked)
			}
		})
	}
}

// sample makes documents for a type. They have empty objects or null members below a depth, or unknown
// members and strings outside every enum.
type sample struct {
	empty, null int
	unknown     bool
}

func (s sample) of(t reflect.Type, depth int) any {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem(), depth)
	case t == reflect.TypeFor[time.Time]():
		return moment
	case t.Kind() == reflect.Array:
		return avatarID // a UUID
	case t.Kind() == reflect.Slice:
		return []any{s.of(t.Elem(), depth+1)}
	case t.Kind() == reflect.String:
		return "resting"
	case t.Kind() == reflect.Bool:
		return true
	case t.Kind() != reflect.Struct:
		return 7
	}
	document := map[string]any{}
	if s.unknown {
		document["mood"] = map[string]any{"deep": []any{1, nil}}
	}
	for i := 0; i < t.NumField() && depth != s.empty; i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		document[name] = s.of(t.Field(i).Type, depth+1)
		if depth == s.null {
			document[name] = nil
		}
	}
	return document
}
