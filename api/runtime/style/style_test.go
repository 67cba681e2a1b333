package style_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/style"
)

type pair struct {
	Name  string     `json:"name"`
	Count *int       `json:"count,omitempty"`
	At    *time.Time `json:"at,omitempty"`
}

type size string

var at = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// The colours are those in the table of styles in OpenAPI 3.1.
func TestParam_escapesAndConverts(t *testing.T) {
	t.Parallel()
	number, color := 1e300, []string{"blue", "black", "brown"}
	for _, test := range []struct {
		style   string
		explode bool
		value   any
		path    bool
		want    string // empty for an error
	}{
		{"simple", false, color, true, "blue,black,brown"},
		{"form", false, "blue", false, "p=blue"},
		{"form", false, color, false, "p=blue,black,brown"},
		{"form", true, color, false, "p=blue&p=black&p=brown"},
		{"", false, color, false, "p=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D"},
		{"simple", false, []string{"a,b", "c/d"}, true, "a%2Cb,c%2Fd"},
		{"simple", false, []string{"a:b", "c/d"}, true, "a%3Ab,c%2Fd"},
		{"simple", false, "a:check@x y+~", true, "a%3Acheck%40x%20y%2B~"},
		{"simple", false, "", true, ""},
		{"simple", false, ".", true, ""},
		{"simple", false, "..", true, ""},
		{"simple", false, "...", true, "..."},
		{"", false, map[string]int{"a": 1}, true, `%7B%22a%22%3A1%7D`},
		{"form", false, []string{"a b", "c&d"}, false, "p=a+b,c%26d"},
		{"form", false, []string{"a,b"}, false, "p=a%2Cb"},
		{"form", false, []string{""}, false, ""},
		{"form", false, []string{}, false, ""},
		{"form", true, []string{}, false, ""},
		{"form", true, []string{""}, false, "p="},
		{"form", true, "", false, "p="},
		{"form", true, "null", false, "p=null"},
		{"deepObject", true, map[string]int{}, false, ""},
		{"form", true, (*int)(nil), false, ""},
		{"form", true, []any{nil}, false, ""},
		{"form", true, &number, false, "p=1e%2B300"},
		{"form", true, size("L"), false, "p=L"},
		{"form", true, []byte("ab"), false, "p=YWI%3D"},
		{"form", true, json.RawMessage("9007199254740993"), false, "p=9007199254740993"},
		{"form", true, json.RawMessage(`"5"`), false, "p=5"},
		{"form", true, at, false, "p=2026-01-02T03%3A04%3A05.000006Z"},
		{"form", true, [][]int{{1}}, false, ""},
		{"form", true, map[string]int{"a": 1}, false, ""},
		{"deepObject", true, map[string]any{"a": 1, "b": "é"}, false, "p%5Ba%5D=1&p%5Bb%5D=%C3%A9"},
		{"deepObject", true, map[string]any{"a": []int{1}}, false, ""},
		{"deepObject", true, map[string]any{"a": nil}, false, ""},
		{"deepObject", true, map[string]any{}, false, ""},
		{"deepObject", true, map[string]any{"a[b]": 1}, false, ""},
		{"", false, []string(nil), false, "p=%5B%5D"},
		{"form", true, func() {}, false, ""},
	} {
		p := style.Param{Name: "p", Style: test.style, Explode: test.explode}
		write := p.Query
		if test.path {
			write = p.Path
		}
		if got, err := write(test.value); (err != nil) != (test.want == "") || err == nil && got != test.want {
			t.Errorf("%s %v: got %s, %v, want %s", test.style, test.value, got, err, test.want)
		}
	}
}

func TestParam_writesCookies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		style   string
		explode bool
		value   any
		want    string // empty for an error
	}{
		{"form", true, "a b", `[p="a b"]`},
		{"form", true, []string{"a", "b,c"}, `[p=a p="b,c"]`},
		{"form", false, []string{"a", "b"}, `[p="a,b"]`},
		{"form", false, []string{"a", "b,c"}, ""},
		{"form", false, []string{"a", " b"}, ""},
		{"form", true, "a;b", ""},
		{"form", true, "é", ""},
		{"form", true, map[string]int{"x": 1}, ""},
		{"", false, map[string]string{"a": ";é"}, "[p=%7B%22a%22%3A%22%3B%C3%A9%22%7D]"},
	} {
		cookies, err := style.Param{Name: "p", Style: test.style, Explode: test.explode}.Cookies(test.value)
		var got []string
		for _, cookie := range cookies {
			got = append(got, cookie.String())
		}
		if text := "[" + strings.Join(got, " ") + "]"; err == nil && text != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%v: got %s, %v, want %s", test.value, text, err, test.want)
		}
	}
}

func TestForm_writesFieldsInTheirStyles(t *testing.T) {
	t.Parallel()
	value := map[string]any{
		"name": "a b", "tags": []string{"x", "y"}, "list": []int{1, 2}, "inner": map[string]any{"a": 1}, "json": []int{1},
		"rows": []map[string]any{{"name": "n"}, {}},
	}
	got, err := style.Form(value, map[string]style.Param{"list": {Name: "list", Style: "form"}, "json": {Name: "json"}})
	const want = `inner={"a":1}&json=[1]&list=1,2&name=a b&rows={"name":"n"}&rows={}&tags=x&tags=y`
	if text, _ := url.QueryUnescape(got); err != nil || text != want {
		t.Errorf("got %s, %v", text, err)
	}
	for _, wrong := range []any{[]int{1}, map[string]any{"a": nil}, map[string]any{"a": []int{}}} {
		if got, err := style.Form(wrong, nil); err == nil {
			t.Errorf("%v is the form %s", wrong, got)
		}
	}
}

func TestHeader_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	number, list := 1e300, []string{"a", "b c", ""}
	for _, test := range []struct {
		value any
		into  any
		want  string
	}{
		{"a, b", new(string), "a, b"},
		{at, new(time.Time), "2026-01-02T03:04:05.000006Z"},
		{&number, new(*float64), "1e+300"},
		{true, new(bool), "true"},
		{[]byte("a,b"), new([]byte), "YSxi"},
		{size("L"), new(size), "L"},
		{json.RawMessage("9007199254740993"), new(json.RawMessage), "9007199254740993"},
		{json.RawMessage(`"a"`), new(json.RawMessage), "a"},
		{list, new([]string), "a,b c,"},
		{[]string(nil), new([]string), ""},
		{[]int{1, 2}, new([]int), "1,2"},
		{&[]time.Time{at, at}, new(*[]time.Time), "2026-01-02T03:04:05.000006Z,2026-01-02T03:04:05.000006Z"},
	} {
		header := http.Header{}
		if err := style.Set(header, style.HeaderValue{Name: "X-H", Value: test.value}, style.HeaderValue{Absent: true}); err != nil || header.Get("X-H") != test.want || len(header) != 1 {
			t.Errorf("%v is written as %q, %v", test.value, header.Get("X-H"), err)
		}
		if err := style.ReadHeader(header, "X-H", test.into); err != nil {
			t.Error(err)
		}
		sent, _ := json.Marshal(test.value)
		got, _ := json.Marshal(test.into)
		if string(sent) != string(got) && string(sent) != "null" {
			t.Errorf("sent %s, got %s", sent, got)
		}
	}
	var spaced []string
	if err := style.ReadHeader(http.Header{"X-H": {"a, b", "c"}}, "X-H", &spaced); err != nil || strings.Join(spaced, "|") != "a|b|c" {
		t.Errorf("got %q, %v", spaced, err)
	}
	if err := style.ReadHeader(http.Header{"X-H": {"many"}}, "X-H", new(int)); err == nil {
		t.Error("a text is read as a number")
	}
}

func TestHeader_refusesWhatWouldBeReadOtherwise(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value any
	}{
		"comma":            {[]string{"a,b"}},
		"space":            {[]string{"a", " b"}},
		"space at the end": {"a "},
		"only empty":       {[]string{""}},
		"line feed":        {"a\nb"},
		"object":           {pair{Name: "a"}},
		"null":             {(*int)(nil)},
		"text of a number": {json.RawMessage(`"5"`)},
		"nested":           {[][]int{{1}}},
		"not JSON":         {func() {}},
	} {
		header := http.Header{}
		if err := style.Set(header, style.HeaderValue{Name: "A", Value: "a"},
			style.HeaderValue{Name: "X-H", Value: test.value}); err == nil || len(header) != 0 {
			t.Errorf("%s: written as %q", name, header)
		}
	}
}
