package weburl_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A path and query have the form that Node.js gives them, also after net/http has written them, and do not change
// again.
func TestParse_writesTheFormOfTheStandard(t *testing.T) {
	t.Parallel()
	for raw, want := range harness.URLs() {
		for range 2 {
			u, err := weburl.Parse("https://a.example" + raw)
			if err != nil || u.RequestURI() != want || u.String() != "https://a.example"+want {
				t.Fatalf("%q is %v, sent as %q, %v, want %q", raw, u, u.RequestURI(), err, want)
			}
			raw = u.RequestURI()
		}
	}
}

func TestParse_normalizesHostsAndPorts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		raw, want string
		err       error
	}{
		{" HTTPS://EXAMPLE.com:0443/ \n", "https://example.com/", nil},
		{"http://bücher.example:80", "http://xn--bcher-kva.example/", nil},
		{"http://example.com:8080", "http://example.com:8080/", nil},
		{"https://example.com:/", "https://example.com/", nil},
		{"http://my_receiver:3000/", "http://my_receiver:3000/", nil},
		{"http://0xbox:3000/", "http://0xbox:3000/", nil},
		{"https://①②⑦.0.0.1/", "https://127.0.0.1/", nil},
		{"", "", weburl.ErrScheme},
		{"no url", "", weburl.ErrScheme},
		{"/path", "", weburl.ErrScheme},
		{"https:///path", "", weburl.ErrScheme},
		{"ftp://example.com/", "", weburl.ErrScheme},
		{`https:\\example.com:///../`, "", weburl.ErrScheme},
		{"https://exa mple.com/", "", weburl.ErrInvalid},
		{"https://example.com\\@127.0.0.1/", "", weburl.ErrInvalid},
		{"https://example.com/\r\nX: y", "", weburl.ErrInvalid},
		{"https://example.com/\x00", "", weburl.ErrInvalid},
		{"https://example.com/%zz", "", weburl.ErrInvalid},
		{"https://a\xff.example/", "", weburl.ErrHost},
		{"https://a／b.example/", "", weburl.ErrHost},
		{"https://a<b.example/", "", weburl.ErrHost},
		{"https://./", "", weburl.ErrHost},
		{"https://@example.com/", "", weburl.ErrUser},
		{"https://example.com:0/", "", weburl.ErrPort},
		{"https://example.com:65536/", "", weburl.ErrPort},
	} {
		u, err := weburl.Parse(test.raw)
		if !errors.Is(err, test.err) || err == nil && u.String() != test.want {
			t.Errorf("%q is %v, %v, want %s, %v", test.raw, u, err, test.want, test.err)
		}
	}
}

// A host has one form, or is refused.
func TestParse_writesOneFormOfAHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"EXAMPLE.com.": "example.com", "127.0.0.1.": "127.0.0.1", "127。0。0。1": "127.0.0.1", "[::ffff:7f00:1]": "127.0.0.1",
		"[0:0:0:0:0:0:0:1]": "[::1]", "[2606:2800:0::0:AB]": "[2606:2800::ab]", "[0:0::ffff:10.0.0.1]": "10.0.0.1",
		"canary:canary@127.0.0.1": "", "canary@127.0.0.1": "", "127.1": "", "127.0.1": "", "0x7f000001": "", "0X7F.0.0.1": "",
		"0177.0.0.1": "", "127.000.0.1": "", "2130706433": "", "2130706433.": "", "1.2.3.4.5": "", "256.0.0.1": "",
		"127.0.0.1..": "", "[fe80::1%25lo]": "", "[::1%25canary]": "",
	} {
		u, err := weburl.Parse("http://" + host + ":8106/")
		if want == "" && err == nil || want != "" && (err != nil || u.Host != want+":8106") {
			t.Errorf("%q is %v, %v, want %q", host, u, err, want)
		}
	}
}

func TestResolve_encodesWhatTheLocationHas(t *testing.T) {
	t.Parallel()
	base := harness.Try(url.Parse("https://a.example/b/c?d"))(t)
	for reference, want := range map[string]string{
		"/é?é":                   "https://a.example/%C3%A9?%C3%A9",
		"x y/%2F|":               "https://a.example/b/x%20y/%2F%7C",
		"?'":                     "https://a.example/b/c?%27",
		"../é":                   "https://a.example/%C3%A9",
		"//b.example/é":          "https://b.example/%C3%A9",
		"http://b.example/{}?é#": "http://b.example/%7B%7D?%C3%A9",
	} {
		if u, err := weburl.Resolve(base, reference); err != nil || u.String() != want {
			t.Errorf("%q leads to %v, %v, want %s", reference, u, err, want)
		}
	}
	if _, err := weburl.Resolve(base, "http://[/"); !errors.Is(err, weburl.ErrInvalid) {
		t.Errorf("an invalid location: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for raw := range harness.URLs() {
		f.Add("https://a.example" + raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := weburl.Parse(raw)
		if err != nil {
			return
		}
		target := u.RequestURI()
		for _, b := range []byte(target) {
			if b <= ' ' || b > '~' || b == '"' || b == '<' || b == '>' || b == '#' {
				t.Fatalf("%q is sent as %q", raw, target)
			}
		}
		if again, err := weburl.Parse(u.String()); err != nil || again.String() != u.String() {
			t.Errorf("%q became %q, then %v, %v", raw, u, again, err)
		}
	})
}
