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
)

// multiparts is a compiled multipart/form-data body.
type multiparts struct {
	parts map[string]*part
	shape *shape // all fields together as an object
}

// part is the compiled description of the parts with one name.
type part struct {
	name     string
	token    string
	repeated bool     // one part for each element of an array
	media    []string // media types or ranges; empty allows all
	json     bool
	streamed bool // content is not checked
	size     [2]limit
	shape    *shape // of a single part
	headers  []*parameter
}

// maxBufferedBytes limits the total size of the fields of a multipart body that are buffered until its end.
const maxBufferedBytes = 1 << 20

// multipartBody is a multipart body whose parts are checked while they are read. A part that is not streamed
// is checked as a whole before its first byte is returned.
type multipartBody struct {
	w        *walker
	content  *content
	boundary string
	source   *headerLimit
	reader   *multipart.Reader
	limits   bodyLimits

	out     []byte // data to return before the rest of part
	part    *multipart.Part
	rule    *part
	pointer string
	size    int64 // bytes of the part so far
	err     error // returned after out

	parts    int
	buffered int
	counts   map[string]int
	fields   textValue
}

func newMultipartBody(w *walker, c *content, boundary string, body io.Reader, l bodyLimits) (*multipartBody, error) {
	if boundary == "" {
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The content type of the body has no boundary."}
	}
	source := &headerLimit{source: body, left: -1}
	own := newWalker(w.pool) // the body may be read after the walker of the request has been released
	own.direction = w.direction
	return &multipartBody{
		w: own, content: c, boundary: boundary, source: source, reader: multipart.NewReader(source, boundary), limits: l,
		counts: make(map[string]int), fields: textValue{kind: kindObject},
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

// next starts the next part or ends the body.
func (b *multipartBody) next() error {
	delimiter := "--" + b.boundary
	if b.parts > 0 {
		delimiter = "\r\n" + delimiter
	}
	b.source.left = b.limits.partHeader
	part, err := b.reader.NextPart()
	b.source.left = -1
	if err == io.EOF { // a wrapped EOF means that the body is truncated
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

// begin checks the header of a part and, unless the part is streamed, its content.
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
		b.add(name, rule.repeated, textValue{kind: kindString})
		return nil
	}
	limit := min(b.limits.part, int64(maxBufferedBytes-b.buffered))
	text, err := io.ReadAll(io.LimitReader(p, limit+1))
	if err != nil {
		return malformedMultipart(err)
	}
	if int64(len(text)) > limit {
		return tooLargeFor("A part of the body", limit)
	}
	b.part = nil
	b.buffered += len(text)
	b.out = append(b.out, text...)
	return b.checkField(name, text)
}

// unnamed returns the description of a part that is not a property of the schema.
func (m *multiparts) unnamed(p *multipart.Part) *part {
	return &part{token: anyMember, streamed: p.FileName() != "" || p.Header.Get("Content-Type") != "", shape: m.shape.member(p.FormName())}
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
		return b.violated("contentType", "must have the content type "+oneOf(b.rule.media))
	}
	for _, h := range b.rule.headers {
		b.w.checkHeader(h, header)
	}
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// checkField checks a buffered part.
func (b *multipartBody) checkField(name string, text []byte) error {
	v := textValue{kind: kindString, text: string(text)}
	switch {
	case !utf8.Valid(text):
		return b.violated(errUTF8.keyword, errUTF8.detail)
	case b.rule.json && !b.w.isJSON(text):
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
	b.add(name, b.rule.repeated, textValue{kind: kindAny, text: string(value)})
	return b.w.failure(http.StatusBadRequest, mismatch)
}

// add adds a part to the object of all fields.
func (b *multipartBody) add(name string, repeated bool, value textValue) {
	v := &b.fields
	i := slices.Index(v.names, name)
	switch {
	case i >= 0 && v.elements[i].kind != kindArray: // a repeated part that is not in the schema
		v.elements[i] = textValue{kind: kindArray, elements: []textValue{v.elements[i], value}}
	case i >= 0:
		v.elements[i].elements = append(v.elements[i].elements, value)
	case repeated:
		v.names = append(v.names, name)
		v.elements = append(v.elements, textValue{kind: kindArray, elements: []textValue{value}})
	default:
		v.names, v.elements = append(v.names, name), append(v.elements, value)
	}
}

// checkWhole checks the object of all fields against the schema. Streamed parts are empty strings in that
// object, and violations about their values are dropped.
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

// checkSize checks the size of the current part against the limits.
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
