package style_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/style"
)

type pair struct {
	Name  string     `json:"name"`
	Count *int       `json:"count,omitempty"`
	At    *time.Time `json:"at,omitempty"`
}

type size string

var at = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// The values are those in the table of styles in OpenAPI 3.1.
func TestParam_writesEachStyle(t *testing.T) {
	t.Parallel()
	color := []string{"blue", "black", "brown"}
	members := map[string]int{"R": 100, "G": 200, "B": 150}
	type texts [3]string // of a scalar, an array and an object
	for name, test := range map[string]struct {
		p    style.Param
		want texts
	}{
		"matrix":           {style.Param{Style: "matrix"}, texts{";color=blue", ";color=blue,black,brown", ";color=B,150,G,200,R,100"}},
		"matrix, exploded": {style.Param{Style: "matrix", Explode: true}, texts{";color=blue", ";color=blue;color=black;color=brown", ";B=150;G=200;R=100"}},
		"label":            {style.Param{Style: "label"}, texts{".blue", ".blue,black,brown", ".B,150,G,200,R,100"}},
		"label, exploded":  {style.Param{Style: "label", Explode: true}, texts{".blue", ".blue.black.brown", ".B=150.G=200.R=100"}},
		"simple":           {style.Param{Style: "simple"}, texts{"blue", "blue,black,brown", "B,150,G,200,R,100"}},
		"simple, exploded": {style.Param{Style: "simple", Explode: true}, texts{"blue", "blue,black,brown", "B=150,G=200,R=100"}},
		"form":             {style.Param{Style: "form"}, texts{"color=blue", "color=blue,black,brown", "color=B,150,G,200,R,100"}},
		"form, exploded":   {style.Param{Style: "form", Explode: true}, texts{"color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"}},
		"space":            {style.Param{Style: "spaceDelimited"}, texts{"color=blue", "color=blue%20black%20brown", "color=B%20150%20G%20200%20R%20100"}},
		"pipe":             {style.Param{Style: "pipeDelimited"}, texts{"color=blue", "color=blue%7Cblack%7Cbrown", "color=B%7C150%7CG%7C200%7CR%7C100"}},
		"deep":             {style.Param{Style: "deepObject", Explode: true}, texts{"color=blue", "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown", "color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"}},
		"JSON":             {style.Param{}, texts{`color="blue"`, `color=["blue","black","brown"]`, `color={"B":150,"G":200,"R":100}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.p.Name = "color"
			write := test.p.Query
			if strings.HasPrefix(name, "matrix") || strings.HasPrefix(name, "label") || strings.HasPrefix(name, "simple") {
				write = test.p.Path
			}
			for i, value := range []any{"blue", color, members} {
				got, err := write(value)
				if name == "JSON" {
					got, err = url.QueryUnescape(got)
				}
				if err != nil || got != test.want[i] {
					t.Errorf("got %s, want %s, error %v", got, test.want[i], err)
				}
			}
		})
	}
}

func TestParam_escapesAndConverts(t *testing.T) {
	t.Parallel()
	number := 1e300
	for _, test := range []struct {
		style   string
		explode bool
		value   any
		path    bool
		want    string // empty for an error
	}{
		{"simple", false, []string{"a,b", "c/d"}, true, "a%2Cb,c%2Fd"},
		{"label", true, []string{"a.b", "c"}, true, ".a%2Eb.c"},
		{"matrix", true, []string{"a;b"}, true, ";p=a%3Bb"},
		{"", false, map[string]int{"a": 1}, true, `%7B%22a%22:1%7D`},
		{"form", false, []string{"a,b", "c&d"}, false, "p=a%2Cb,c%26d"},
		{"form", true, []string{}, false, ""},
		{"spaceDelimited", false, []string{"a b"}, false, ""},
		{"pipeDelimited", false, []string{"a|b"}, false, ""},
		{"form", true, pair{Name: "é", Count: new(1), At: &at}, false, "at=2026-01-02T03%3A04%3A05.000006Z&count=1&name=%C3%A9"},
		{"form", true, &number, false, "p=1e%2B300"},
		{"form", true, size("L"), false, "p=L"},
		{"form", true, []byte("ab"), false, "p=YWI%3D"},
		{"form", true, json.RawMessage("9007199254740993"), false, "p=9007199254740993"},
		{"form", true, json.RawMessage(`"5"`), false, "p=5"},
		{"form", true, at, false, "p=2026-01-02T03%3A04%3A05.000006Z"},
		{"form", true, [][]int{{1}}, false, ""},
		{"form", false, map[string][]int{"a": {1}}, false, ""},
		{"deepObject", true, map[string]any{"a": map[string]any{"b": []int{1, 2}}}, false, "p%5Ba%5D%5Bb%5D%5B0%5D=1&p%5Ba%5D%5Bb%5D%5B1%5D=2"},
		{"form", true, func() {}, false, ""},
	} {
		p := style.Param{Name: "p", Style: test.style, Explode: test.explode}
		write := p.Query
		if test.path {
			write = p.Path
		}
		got, err := write(test.value)
		list, isList := test.value.([]string)
		refused := test.want == "" && (!isList || len(list) > 0)
		if (err != nil) != refused || err == nil && got != test.want {
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
		{"form", true, map[string]int{"x": 1, "y": 2}, "[x=1 y=2]"},
		{"form", false, []string{"a", "b"}, `[p="a,b"]`},
		{"form", false, []string{"a", "b,c"}, ""},
		{"form", true, "a;b", ""},
		{"form", true, "é", ""},
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

func TestText_isThatOfJSON(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{"a\n\"": "a\n\"", "7": 7, "1e+300": 1e300, "2026-01-02T03:04:05.000006Z": at, "true": true} {
		if got, err := style.Text(value); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

func TestForm_writesFieldsInTheirStyles(t *testing.T) {
	t.Parallel()
	value := map[string]any{"name": "a b", "tags": []string{"x", "y"}, "list": []int{1, 2}, "inner": map[string]any{"a": 1}, "json": []int{1}}
	got, err := style.Form(value, map[string]style.Param{"list": {Name: "list", Style: "form"}, "json": {Name: "json"}})
	const want = "inner%5Ba%5D=1&json=%5B1%5D&list=1,2&name=a+b&tags%5B0%5D=x&tags%5B1%5D=y"
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := style.Form([]int{1}, nil); err == nil {
		t.Error("an array is a form")
	}
}

// The values are those of the examples in OpenAPI 3.2.
func TestQueryString_writesEachMediaType(t *testing.T) {
	t.Parallel()
	for media, c := range map[string]struct {
		value any
		want  string
	}{
		"application/x-www-form-urlencoded": {map[string]any{"foo": "a + b", "bar": true}, "bar=true&foo=a+%2B+b"},
		"application/json":                  {map[string]any{"flag": nil, "numbers": []int{1, 2}}, "%7B%22flag%22%3Anull%2C%22numbers%22%3A%5B1%2C2%5D%7D"},
		"application/geo+json":              {"a b", "%22a%20b%22"},
		"application/jsonpath":              {"$.a.b[1:1]", "%24.a.b%5B1%3A1%5D"},
	} {
		if got, err := (style.QueryString{Media: media}).Text(c.value); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", media, got, err, c.want)
		}
	}
}

func TestHeader_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	number, list := 1e300, []string{"a", "b c", ""}
	p := pair{Name: "n", Count: new(7), At: &at}
	for _, test := range []struct {
		kind  style.Kind
		value any
		into  any
		want  string
	}{
		{style.Scalar, "a, b", new(string), "a, b"},
		{style.Scalar, at, new(time.Time), "2026-01-02T03:04:05.000006Z"},
		{style.Scalar, &number, new(*float64), "1e+300"},
		{style.Scalar, true, new(bool), "true"},
		{style.Scalar, []byte("a,b"), new([]byte), "YSxi"},
		{style.Scalar, size("L"), new(size), "L"},
		{style.Scalar, json.RawMessage("9007199254740993"), new(json.RawMessage), "9007199254740993"},
		{style.Scalar, json.RawMessage(`"a"`), new(json.RawMessage), "a"},
		{style.Array, list, new([]string), "a,b c,"},
		{style.Array, []string(nil), new([]string), ""},
		{style.Array, []int{1, 2}, new([]int), "1,2"},
		{style.Array, &[]time.Time{at, at}, new(*[]time.Time), "2026-01-02T03:04:05.000006Z,2026-01-02T03:04:05.000006Z"},
		{style.Object, p, new(pair), "at,2026-01-02T03:04:05.000006Z,count,7,name,n"},
		{style.Exploded, &p, new(*pair), "at=2026-01-02T03:04:05.000006Z,count=7,name=n"},
		{style.Exploded, map[string]float64{"a": 1.5}, new(map[string]float64), "a=1.5"},
		{style.JSON, p, new(pair), `{"name":"n","count":7,"at":"2026-01-02T03:04:05.000006Z"}`},
	} {
		h := style.Header{Name: "X-H", Kind: test.kind}
		header := http.Header{}
		if err := style.Set(header, style.HeaderValue{Header: h, Value: test.value}, style.HeaderValue{Absent: true}); err != nil || header.Get("X-H") != test.want || len(header) != 1 {
			t.Errorf("%v is written as %q, %v", test.value, header.Get("X-H"), err)
		}
		if err := h.Read(header, test.into); err != nil {
			t.Error(err)
		}
		sent, _ := json.Marshal(test.value)
		got, _ := json.Marshal(test.into)
		if string(sent) != string(got) && string(sent) != "null" {
			t.Errorf("sent %s, got %s", sent, got)
		}
	}
	null := style.Header{Name: "X-H", Null: true}
	var read *int
	if text, err := null.Text((*int)(nil)); text != "null" || err != nil || null.Read(http.Header{"X-H": {text}}, &read) != nil || read != nil {
		t.Errorf("null is written as %q, %v and read as %v", text, err, read)
	}
	var spaced []string
	if err := (style.Header{Name: "X-H", Kind: style.Array}).Read(http.Header{"X-H": {"a, b", "c"}}, &spaced); err != nil || strings.Join(spaced, "|") != "a|b|c" {
		t.Errorf("got %q, %v", spaced, err)
	}
	if err := (style.Header{Name: "X-H"}).Read(http.Header{"X-H": {"many"}}, new(int)); err == nil {
		t.Error("a text is read as a number")
	}
}

func TestHeader_refusesWhatWouldBeReadOtherwise(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind  style.Kind
		value any
	}{
		"comma":            {style.Array, []string{"a,b"}},
		"space":            {style.Array, []string{"a", " b"}},
		"space at the end": {style.Scalar, "a "},
		"only empty":       {style.Array, []string{""}},
		"line feed":        {style.Scalar, "a\nb"},
		"pair":             {style.Exploded, pair{Name: "a,count=b"}},
		"text of a number": {style.Scalar, json.RawMessage(`"5"`)},
		"nested":           {style.Array, [][]int{{1}}},
		"not JSON":         {style.Scalar, func() {}},
	} {
		header := http.Header{}
		if err := style.Set(header, style.HeaderValue{Header: style.Header{Name: "A"}, Value: "a"},
			style.HeaderValue{Header: style.Header{Name: "X-H", Kind: test.kind}, Value: test.value}); err == nil || len(header) != 0 {
			t.Errorf("%s: written as %q", name, header)
		}
	}
}
