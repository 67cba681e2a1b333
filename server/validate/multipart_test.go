package validate_test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

const partsContent = `"multipart/form-data": {
	"schema": {"type": "object", "required": ["title", "file"], "properties": {
		"title": {"type": "string", "minLength": 2},
		"age": {"type": "integer"},
		"id": {"type": "string", "readOnly": true},
		"meta": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
		"tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
		"file": {"type": "string", "format": "binary", "maxLength": 2000},
		"photo": {},
		"photos": {"type": "array", "minItems": 2, "items": {"type": "string", "format": "binary"}},
		"about": {"type": "string"}},
		"patternProperties": {"^code": {"type": "string"}, "^file": {"type": "string", "format": "binary"}},
		"oneOf": [{"properties": {"kind": {"type": "string", "const": "a"}}}, {"required": ["kind"], "properties": {"kind": {"type": "string", "const": "b"}}}]},
	"encoding": {
		"photo": {"contentType": "image/png, image/*", "headers": {"X-Width": {"required": true, "schema": {"type": "integer"}}}},
		"photos": {"contentType": "image/png"}, "about": {"contentType": "text/plain"}}}`

// sentPart is a part of a body.
type sentPart struct {
	name, file, contentType, text string
	header                        http.Header
}

func partsOf(tb testing.TB, parts ...sentPart) (contentType string, body []byte) {
	tb.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, p := range parts {
		header := textproto.MIMEHeader(p.header.Clone())
		if header == nil {
			header = make(textproto.MIMEHeader)
		}
		disposition := `form-data; name="` + p.name + `"`
		if p.file != "" {
			disposition += `; filename="` + p.file + `"`
		}
		header.Set("Content-Disposition", disposition)
		if p.contentType != "" {
			header.Set("Content-Type", p.contentType)
		}
		part := harness.Try(w.CreatePart(header))(tb)
		harness.Try(io.WriteString(part, p.text))(tb)
	}
	harness.Check(tb, w.Close())
	return w.FormDataContentType(), buf.Bytes()
}

// readParts reads a body the way the generated server passes it to an implementation.
func readParts(r *http.Request) (string, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return "", err
	}
	var read strings.Builder
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && !errors.As(err, new(*validate.Error)) {
			return read.String(), nil
		}
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(part)
		if err != nil && string(text) == "old" {
			return "", errors.New("a field that is refused is read")
		}
		if err != nil {
			return "", err
		}
		read.WriteString(part.FormName() + "=" + part.FileName() + ":" + string(text) + ";")
	}
}

func TestOperation_Handler_checksMultipart(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", taking(partsContent), anyObject, validate.Config{MaxBodyBytes: 2 << 20})
	post := posting(t, o, readParts)
	title := sentPart{name: "title", text: "Ada"}
	file := sentPart{name: "file", file: "a.bin", contentType: "application/octet-stream", text: "\x00\xff\r\n--x"}
	photo := sentPart{name: "photo", file: "p", contentType: "image/jpeg", text: "p", header: http.Header{"X-Width": {"7"}}}
	photos := sentPart{name: "photos", file: "p", contentType: "image/png", text: "p"}
	with := func(p sentPart, change func(*sentPart)) sentPart {
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		parts []sentPart
		want  string
	}{
		"both":                 {[]sentPart{title, file}, "title=:Ada;file=a.bin:\x00\xff\r\n--x;"},
		"empty file":           {[]sentPart{title, with(file, func(p *sentPart) { p.text = "" })}, "title=:Ada;file=a.bin:;"},
		"missing":              {[]sentPart{title}, "/file required"},
		"nothing":              {nil, "/title required, /file required"},
		"before the file":      {[]sentPart{{name: "age", text: "old"}, file}, "/age type"},
		"read-only":            {[]sentPart{title, {name: "id", text: "7"}, file}, "/id readOnly"},
		"UTF-8":                {[]sentPart{{name: "title", text: "\xff"}}, "/title type"},
		"JSON":                 {[]sentPart{title, file, {name: "meta", contentType: "application/json", text: `{"a":1}`}}, `title=:Ada;file=a.bin:` + "\x00\xff\r\n--x" + `;meta=:{"a":1};`},
		"not JSON":             {[]sentPart{{name: "meta", text: `{`}}, "/meta content"},
		"JSON, twice a name":   {[]sentPart{{name: "meta", text: `{"a":1,"a":1}`}}, "/meta content"},
		"JSON of another type": {[]sentPart{{name: "meta", contentType: "text/plain", text: `{"a":1}`}}, "/meta contentType"},
		"array":                {[]sentPart{title, file, {name: "tags", text: "a"}, {name: "tags", text: "b"}}, "title=:Ada;file=a.bin:\x00\xff\r\n--x;tags=:a;tags=:b;"},
		"too many elements":    {[]sentPart{title, file, {name: "tags", text: "a"}, {name: "tags", text: "b"}, {name: "tags", text: "c"}}, "/tags maxItems"},
		"too few files":        {[]sentPart{title, file, photos}, "/photos minItems"},
		"range":                {[]sentPart{title, with(file, func(p *sentPart) { p.text = "f" }), photo}, "title=:Ada;file=a.bin:f;photo=p:p;"},
		"out of range":         {[]sentPart{with(photo, func(p *sentPart) { p.contentType = "video/mp4" })}, "/photo contentType"},
		"no header":            {[]sentPart{with(photo, func(p *sentPart) { p.header = nil })}, "/photo/header:X-Width required"},
		"wrong header":         {[]sentPart{with(photo, func(p *sentPart) { p.header = http.Header{"X-Width": {"x"}} })}, "/photo/header:X-Width type"},
		"schema of a file":     {[]sentPart{title, with(file, func(p *sentPart) { p.text = strings.Repeat("x", 2001) })}, "/file maxLength"},
		"text":                 {[]sentPart{{name: "about", contentType: "text/plain", text: "\xff"}}, "/about type"},
		"text, of a file":      {[]sentPart{with(title, func(p *sentPart) { p.contentType = "image/png" })}, "/title contentType"},
		"too many bytes":       {slices.Repeat([]sentPart{{name: "more", text: strings.Repeat("x", 600<<10)}}, 2), "A part of the body is larger than 434176 bytes."},
		"too many parts":       {slices.Repeat([]sentPart{{name: "a", text: "x"}}, 101), "The body has more than 100 parts."},
		"header too large":     {[]sentPart{with(title, func(p *sentPart) { p.header = http.Header{"A": {strings.Repeat("x", 9000)}} })}, "The header of a part of the body is too large."},
		"no name":              {[]sentPart{{text: "x"}}, "The body is not valid multipart/form-data."},
		"by pattern":           {[]sentPart{title, with(file, func(p *sentPart) { p.text = "f" }), {name: "code 1", text: "7"}}, "title=:Ada;file=a.bin:f;code 1=:7;"},
		"alternative":          {[]sentPart{title, {name: "kind", text: "b"}, with(file, func(p *sentPart) { p.text = "f" })}, "title=:Ada;kind=:b;file=a.bin:f;"},
		"no alternative":       {[]sentPart{title, {name: "kind", text: "c"}, file}, " oneOf"},
		"unknown":              {[]sentPart{title, with(file, func(p *sentPart) { p.text = "f" }), {name: "more", text: "m"}, {name: "more", file: "f", text: "\xff"}}, "title=:Ada;file=a.bin:f;more=:m;more=f:\xff;"},
	} {
		contentType, body := partsOf(t, c.parts...)
		if _, got := post(contentType, bytes.NewReader(body)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	contentType, body := partsOf(t, title, file)
	for _, c := range []struct{ contentType, body, want string }{
		{"multipart/form-data", string(body), "The content type of the body has no valid boundary."},
		{"multipart/form-data; boundary=other", string(body), "The body is not valid multipart/form-data."},
		{contentType, string(body[:len(body)-5]), "The body is not valid multipart/form-data."},
		{contentType, strings.Repeat("x", 2<<20+1), "The body is larger than 2097152 bytes."},
	} {
		if _, got := post(c.contentType, strings.NewReader(c.body)); got != c.want {
			t.Errorf("%s %.20s: got %q, want %q", c.contentType, c.body, got, c.want)
		}
	}
}

// The implementation gets the beginning of a file before the file has been sent completely.
func TestOperation_Handler_streamsFiles(t *testing.T) {
	t.Parallel()
	o := operationOf(t, "POST", taking(partsContent), anyObject, validate.Config{})
	contentType, body := partsOf(t, sentPart{name: "file", file: "f", text: strings.Repeat("x", 1990) + "the end"},
		sentPart{name: "title", text: "Ada"})
	begun := make(chan struct{})
	sent, send := io.Pipe()
	go func() {
		cut := bytes.Index(body, []byte("the end"))
		_, _ = send.Write(body[:cut])
		<-begun
		_, _ = send.Write(body[cut:])
		_ = send.Close()
	}()
	status, got := posting(t, o, func(r *http.Request) (string, error) {
		part := harness.Try(harness.Try(r.MultipartReader())(t).NextPart())(t)
		_, err := io.ReadFull(part, make([]byte, 100))
		close(begun)
		rest, readErr := io.ReadAll(part)
		return string(rest), errors.Join(err, readErr)
	})(contentType, sent)
	if status != 200 || !strings.HasSuffix(got, "xthe end") {
		t.Errorf("got %d %s", status, got)
	}
}
