package validate

import (
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// multiparts says what the parts of multipart/form-data are.
type multiparts struct {
	parts map[string]*part
	shape *shape // of all fields together
}

// part is what the document says about the parts of one name.
type part struct {
	name     string
	token    string
	repeated bool     // one part for each element of an array
	media    []string // or ranges; empty allows all
	json     bool
	streamed bool // not looked into
	size     [2]limit
	shape    *shape // of one part
	headers  []*parameter
}

// maxHeldBytes limits the fields of a multipart body that are held in memory until its end.
const maxHeldBytes = 1 << 20

// multipartBody is a multipart body whose parts are checked while they are read. A part that is
// not streamed is read and checked before its first byte is given away.
type multipartBody struct {
	w        *walker
	content  *content
	boundary string
	source   *headerLimit
	reader   *multipart.Reader
	limits   bodyLimits

	out     []byte // what is to be read before the rest of part
	part    *multipart.Part
	rule    *part
	pointer string
	size    int64 // of the part so far
	err     error // after out

	parts  int
	held   int
	counts map[string]int
	fields spelled
}

func newMultipartBody(w *walker, c *content, boundary string, body io.Reader, l bodyLimits) (*multipartBody, error) {
	if boundary == "" {
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The content type of the body has no boundary."}
	}
	source := &headerLimit{source: body, left: -1}
	own := newWalker(w.pool) // for the body may be read for too long
	own.direction = w.direction
	return &multipartBody{
		w:       newWalker(w.pool), // of its own, for the body may be read for too long
		content: c, boundary: boundary, source: source, reader: multipart.NewReader(source, boundary), limits: l,
		counts: make(map[string]int), fields: spelled{kind: kindObject},
	}, nil
}

func (b *multipartBody) Read(p []byte) (int, error) {
	for {
		switch {
		case len(b.out) > 0:
			n := copy(p, b.out)
			b.out = b.out[n:]
			return n, nil
		case b.err != nil:
			return 0, b.err
		case b.part == nil:
			b.err = b.next()
			continue
		}
		n, err := b.part.Read(p)
		b.size += int64(n)
		b.err = b.checkSize(errors.Is(err, io.EOF))
		if errors.Is(err, io.EOF) {
			b.part = nil
		} else if err != nil && b.err == nil {
			b.err = malformedMultipart(err)
		}
		if n > 0 && b.err == nil {
			return n, nil
		}
	}
}

func (b *multipartBody) Close() error {
	b.out, b.err = nil, http.ErrBodyReadAfterClose
	return nil
}

// next begins the next part, or ends the body.
func (b *multipartBody) next() error {
	delimiter := "--" + b.boundary
	if b.parts > 0 {
		delimiter = "\r\n" + delimiter
	}
	b.source.left = b.limits.partHeader
	part, err := b.reader.NextPart()
	b.source.left = -1
	if err == io.EOF { // a wrapped one is an end too early
		if err := b.checkWhole(); err != nil {
			return err
		}
		b.out = []byte(delimiter + "--\r\n")
		return io.EOF
	}
	if err != nil {
		return malformedMultipart(err)
	}
	if b.parts++; b.parts > b.limits.parts {
		return &Error{
			Status: http.StatusRequestEntityTooLarge,
			Detail: "The body has more than " + strconv.Itoa(b.limits.parts) + " parts.",
		}
	}
	b.out = append(b.out[:0], delimiter+"\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(part.Header)) {
		for _, value := range part.Header[name] {
			b.out = append(b.out, name+": "+value+"\r\n"...)
		}
	}
	b.out = append(b.out, "\r\n"...)
	return b.begin(part)
}

// begin checks the header of a part, and the whole part unless it is streamed.
func (b *multipartBody) begin(p *multipart.Part) error {
	name := p.FormName()
	if name == "" || !utf8.ValidString(name) {
		return malformedMultipart(nil)
	}
	rule := b.content.multipart.parts[name]
	if rule == nil {
		rule = b.content.multipart.unnamed(p)
	}
	b.part, b.rule, b.size = p, rule, 0
	b.pointer = rule.token
	if rule.repeated {
		b.pointer += "/" + strconv.Itoa(b.counts[name])
	} else if b.counts[name] > 0 && rule.name != "" {
		return b.violated("repeated", "must be given once")
	}
	b.counts[name]++
	if err := b.checkHeader(p); err != nil {
		return err
	}
	if rule.streamed {
		b.add(name, rule.repeated, spelled{kind: kindString})
		return nil
	}
	limit := min(b.limits.part, int64(maxHeldBytes-b.held))
	text, err := io.ReadAll(io.LimitReader(p, limit+1))
	if err != nil {
		return malformedMultipart(err)
	}
	if int64(len(text)) > limit {
		return tooLargeFor("A part of the body", limit)
	}
	b.part = nil
	b.held += len(text)
	b.out = append(b.out, text...)
	return b.checkField(name, text)
}

// unnamed returns the rule of a part that the schema does not name.
func (m *multiparts) unnamed(p *multipart.Part) *part {
	return &part{token: anyMember, streamed: p.FileName() != "" || p.Header.Get("Content-Type") != "", shape: m.shape.rest}
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
		media = mediaJSON // who sends a form often says nothing
	}
	if len(b.rule.media) > 0 && !slices.ContainsFunc(b.rule.media, func(pattern string) bool { return inRange(media, pattern) }) {
		return b.violated("contentType", "must have the content type "+oneOf(b.rule.media))
	}
	for _, h := range b.rule.headers {
		b.w.checkHeader(h, header)
	}
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// checkField checks a part that is held in memory.
func (b *multipartBody) checkField(name string, text []byte) error {
	v := spelled{kind: kindString, text: string(text)}
	switch {
	case !utf8.Valid(text):
		return b.violated(errUTF8.keyword, errUTF8.detail)
	case b.rule.json && !jsontext.Value(text).IsValid():
		return b.violated(errNotJSON.keyword, errNotJSON.detail)
	case b.rule.json:
		v.kind = kindAny
	}
	value := b.rule.shape.appendJSON(nil, v, b.w)
	b.w.root = b.pointer
	for _, n := range b.rule.shape.nodes {
		b.w.walkBody(value, n)
	}
	b.w.root = ""
	b.add(name, b.rule.repeated, spelled{kind: kindAny, text: string(value)})
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// add adds a part to the object that all parts are together.
func (b *multipartBody) add(name string, repeated bool, value spelled) {
	v := &b.fields
	i := slices.Index(v.names, name)
	switch {
	case i >= 0 && v.elements[i].kind != kindArray: // the schema does not name it
		v.elements[i] = spelled{kind: kindArray, elements: []spelled{v.elements[i], value}}
	case i >= 0:
		v.elements[i].elements = append(v.elements[i].elements, value)
	case repeated:
		v.names = append(v.names, name)
		v.elements = append(v.elements, spelled{kind: kindArray, elements: []spelled{value}})
	default:
		v.names, v.elements = append(v.names, name), append(v.elements, value)
	}
}

// checkWhole checks what the schema says about all parts together. A part that is streamed is an
// empty string there, and what is said about its value is left out.
func (b *multipartBody) checkWhole() error {
	text := b.content.multipart.shape.appendJSON(nil, b.fields, b.w)
	b.w.walkBody(text, b.content.node)
	b.w.found = slices.DeleteFunc(b.w.found, func(v Violation) bool {
		for _, p := range b.content.multipart.parts {
			if p.streamed && b.counts[p.name] > 0 &&
				(strings.HasPrefix(v.Pointer, p.token+"/") || v.Pointer == p.token && !p.repeated) {
				return true
			}
		}
		return false
	})
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// checkSize compares the bytes of a part with the limits.
func (b *multipartBody) checkSize(ended bool) error {
	if b.size > b.limits.part {
		return tooLargeFor("A part of the body", b.limits.part)
	}
	if v := sizeViolation(b.pointer, uint64(b.size), b.rule.size, ended); v != nil {
		return b.violated(v.Keyword, v.Detail)
	}
	return nil
}

func (b *multipartBody) violated(keyword, detail string) error {
	return &Error{Status: http.StatusBadRequest, Detail: mismatch, Violations: []Violation{{b.pointer, keyword, detail}}}
}

func malformedMultipart(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return &Error{Status: http.StatusBadRequest, Detail: "The body is not valid " + mediaMultipart + "."}
}

// headerLimit fails when more is read before a part begins than its header may have.
type headerLimit struct {
	source io.Reader
	left   int64 // -1 while a part is read
}

func (l *headerLimit) Read(p []byte) (int, error) {
	if l.left < 0 {
		return l.source.Read(p)
	}
	if l.left == 0 {
		return 0, &Error{Status: http.StatusRequestEntityTooLarge, Detail: "The header of a part of the body is too large."}
	}
	n, err := l.source.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
