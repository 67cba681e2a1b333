package validate

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// multiparts is a compiled multipart/form-data.
type multiparts struct {
	byName map[string]*part
	shape  *schema.Shape // all parts together as an object
}

// part is the compiled description of the parts with one name.
type part struct {
	name, token string   // the name is empty if the schema does not declare it
	repeated    bool     // one part for each element of an array
	media       []string // media types or ranges; empty allows all
	json        bool
	streamed    bool // content is not checked
	size        *schema.Size
	shape       *schema.Shape // of a single part
	headers     []*parameter
}

// maxBufferedBytes limits the total size of the fields of a multipart body that are buffered until its end.
const maxBufferedBytes = 1 << 20

// multipartBody is a multipart body whose parts are checked while they are read. A part that is not streamed
// is checked as a whole before its first byte is returned.
type multipartBody struct {
	w       *checker
	content *content
	source  *headerLimit
	reader  *multipart.Reader
	writer  *multipart.Writer // to out

	out     bytes.Buffer // data to return before the rest of part
	part    *multipart.Part
	rule    *part
	pointer string
	size    int   // bytes of the part so far
	err     error // returned after out

	parts    int
	buffered int
	streamed map[string]bool // the pointers of the parts that were not checked
	fields   fields
}

func newMultipartBody(w *checker, c *content, boundary string, body io.Reader) (*multipartBody, error) {
	source := &headerLimit{source: body, left: -1}
	own := newChecker(w.Direction) // the body may be read after the checker of the request has been released
	b := &multipartBody{
		w: own, content: c, source: source, reader: multipart.NewReader(source, boundary),
		streamed: make(map[string]bool),
	}
	b.writer = multipart.NewWriter(&b.out)
	if b.writer.SetBoundary(boundary) != nil {
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The content type of the body has no valid boundary."}
	}
	return b, nil
}

func (b *multipartBody) Read(p []byte) (int, error) {
	for {
		switch {
		case b.out.Len() > 0:
			return b.out.Read(p)
		case b.err != nil:
			return 0, b.err
		case b.part == nil:
			b.err = b.next()
			continue
		}
		n, err := b.part.Read(p)
		b.size += n
		ended := errors.Is(err, io.EOF)
		if keyword, detail := b.rule.size.Violation(b.size, !ended); keyword != "" {
			b.err = b.violated(keyword, detail)
		}
		if ended {
			b.part = nil
		} else if err != nil && b.err == nil {
			b.err = b.malformed(err)
		}
		if n > 0 && b.err == nil {
			return n, nil
		}
	}
}

func (b *multipartBody) Close() error {
	b.out, b.err = bytes.Buffer{}, http.ErrBodyReadAfterClose
	return nil
}

// next starts the next part or ends the body.
func (b *multipartBody) next() error {
	b.source.left = maxPartHeaderBytes
	part, err := b.reader.NextPart()
	b.source.left = -1
	if err == io.EOF { // a wrapped EOF means that the body is truncated
		if err := b.checkWhole(); err != nil {
			return err
		}
		_ = b.writer.Close() // writing to a bytes.Buffer does not fail
		return io.EOF
	}
	if err != nil {
		return b.malformed(err)
	}
	if b.parts++; b.parts > maxParts {
		return &Error{
			Status: http.StatusRequestEntityTooLarge,
			Detail: "The body has more than " + strconv.Itoa(maxParts) + " parts.",
		}
	}
	_, _ = b.writer.CreatePart(part.Header) // as above
	return b.begin(part)
}

// begin checks the header of a part and, unless the part is streamed, its content.
func (b *multipartBody) begin(p *multipart.Part) error {
	rule, name, err := b.find(p)
	if err != nil {
		return err
	}
	if err := b.checkHeader(p); err != nil {
		return err
	}
	if rule.streamed {
		b.streamed[b.pointer] = rule.name != ""
		b.fields.add(name, schema.TextValue{Kind: schema.KindString}, rule.repeated)
		return nil
	}
	limit := int64(maxBufferedBytes - b.buffered)
	text, err := io.ReadAll(io.LimitReader(p, limit+1))
	if err != nil {
		return b.malformed(err)
	}
	if int64(len(text)) > limit {
		return tooLargeFor("A part of the body", limit)
	}
	b.part = nil
	b.buffered += len(text)
	if err = b.checkField(name, text); err == nil {
		b.out.Write(text)
	}
	return err
}

// find makes p the current part.
func (b *multipartBody) find(p *multipart.Part) (rule *part, name string, err error) {
	b.part, b.size = p, 0
	name = p.FormName()
	if name == "" || !utf8.ValidString(name) {
		return nil, "", b.malformed(nil)
	}
	if rule = b.content.multipart.byName[name]; rule == nil {
		rule = b.content.multipart.unnamed(p)
	}
	b.rule, b.pointer = rule, rule.token
	known := b.fields.get(name)
	switch {
	case rule.repeated && known == nil:
		b.pointer += "/0"
	case rule.repeated:
		b.pointer += "/" + strconv.Itoa(len(known.Elements))
	case known != nil && rule.name != "":
		return nil, "", b.violated("repeated", "must be given once")
	}
	return rule, name, nil
}

// unnamed returns the description of a part that is not a property of the schema.
func (m *multiparts) unnamed(p *multipart.Part) *part {
	return &part{token: schema.AnyMember, streamed: p.FileName() != "" || p.Header.Get("Content-Type") != "", shape: m.shape.Member(p.FormName())}
}

func (b *multipartBody) checkHeader(p *multipart.Part) error {
	header := http.Header(p.Header)
	media := mediaText
	if b.rule.streamed {
		media = "application/octet-stream"
	}
	if given := header["Content-Type"]; len(given) > 0 {
		media, _ = mediaTypeOf(header)
	} else if b.rule.json {
		media = mediaJSON // senders of forms often omit the content type
	}
	if len(b.rule.media) > 0 && !slices.ContainsFunc(b.rule.media, func(pattern string) bool { return inRange(media, pattern) }) {
		return b.violated("contentType", "must have the content type "+document.OneOf(b.rule.media))
	}
	for _, h := range b.rule.headers {
		b.w.checkHeader(h, header)
	}
	for i := range b.w.Found {
		b.w.Found[i].Pointer = b.pointer + "/" + b.w.Found[i].Pointer
	}
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// checkField checks a buffered part.
func (b *multipartBody) checkField(name string, text []byte) error {
	v := schema.TextValue{Kind: schema.KindString, Text: string(text)}
	switch {
	case !utf8.Valid(text):
		return b.violated(errUTF8.keyword, errUTF8.detail)
	case b.rule.json && !b.w.IsJSON(text):
		return b.violated(errNotJSON.keyword, errNotJSON.detail)
	case b.rule.json:
		v.Kind = schema.KindAny
	}
	value := b.rule.shape.AppendJSON(nil, v, &b.w.Walker)
	b.w.Root = b.pointer
	for _, n := range b.rule.shape.Nodes {
		b.w.Check(value, n)
	}
	b.w.Root = ""
	b.fields.add(name, schema.TextValue{Kind: schema.KindAny, Text: string(value)}, b.rule.repeated)
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// checkWhole checks the object of all parts against the schema. Streamed parts are empty strings there,
// and violations about their values are dropped.
func (b *multipartBody) checkWhole() error {
	text := b.content.multipart.shape.AppendJSON(nil, b.fields.object(), &b.w.Walker)
	b.w.Check(text, b.content.node)
	b.w.Found = slices.DeleteFunc(b.w.Found, func(v schema.Violation) bool {
		for pointer, known := range b.streamed {
			if known && (v.Pointer == pointer || strings.HasPrefix(v.Pointer, pointer+"/")) {
				return true
			}
		}
		return false
	})
	return b.w.failure(http.StatusBadRequest, mismatch)
}

func (b *multipartBody) violated(keyword, detail string) error {
	return &Error{Status: http.StatusBadRequest, Detail: mismatch, Violations: []Violation{{b.pointer, keyword, detail}}}
}

func (b *multipartBody) malformed(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return &Error{Status: http.StatusBadRequest, Detail: "The body is not valid " + b.content.media + "."}
}

// headerLimit is a reader that fails when the header of a part exceeds the limit.
type headerLimit struct {
	source io.Reader
	left   int64 // -1 outside of part headers
}

func (h *headerLimit) Read(p []byte) (int, error) {
	if h.left < 0 {
		return h.source.Read(p)
	}
	if h.left == 0 {
		return 0, &Error{Status: http.StatusRequestEntityTooLarge, Detail: "The header of a part of the body is too large."}
	}
	n, err := h.source.Read(p[:min(int64(len(p)), h.left)])
	h.left -= int64(n)
	return n, err
}
