package validate

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// response is what the document says about the answers of one or several statuses.
type response struct {
	headers []*parameter
	content map[string]*node // by media type; empty when the body must be empty
}

// Response checks an answer: its status is declared, exactly, as a range or by default; the
// declared headers are right; and the body has a declared content type and matches its schema.
// Where no content is declared the body is empty. The error is an [*Error] with status 500.
func (o *Operation) Response(status int, header http.Header, body []byte) error {
	declared := o.declared(status)
	if declared == nil {
		return mismatched("The document does not declare the status " + strconv.Itoa(status) + ".")
	}
	w := newWalker(o.pool)
	defer w.release()
	for _, p := range declared.headers {
		w.checkHeader(p, header)
	}
	if len(declared.content) == 0 {
		if len(body) > 0 {
			return mismatched("The document declares no body for the status " + strconv.Itoa(status) + ".")
		}
	} else {
		n, ok := declared.content[mediaTypeOf(header)]
		if !ok {
			return mismatched("The document does not declare this content type for the status " + strconv.Itoa(status) + ".")
		}
		w.walkBody(body, n)
	}
	return w.failure(http.StatusInternalServerError, "The response does not match the interface.")
}

func mismatched(detail string) error {
	return &Error{Status: http.StatusInternalServerError, Detail: detail}
}

func (o *Operation) declared(status int) *response {
	if r := o.exact[status]; r != nil {
		return r
	}
	if class := status / 100; 0 < class && class < len(o.ranges) && o.ranges[class] != nil {
		return o.ranges[class]
	}
	return o.fallback
}

func (c *compiler) responses(at string, o *Operation, source *openapi3.Responses) {
	if source == nil {
		return
	}
	c.refuseRest(at, &struct{}{}, source.Extensions)
	for _, status := range source.Keys() {
		at := at + "/" + status
		r := c.response(at, source.Value(status))
		code, err := strconv.Atoi(status)
		switch {
		case status == "default":
			o.fallback = r
		case len(status) == 3 && '1' <= status[0] && status[0] <= '5' && status[1:] == "XX":
			o.ranges[status[0]-'0'] = r
		case len(status) == 3 && err == nil && code >= 100:
			o.exact[code] = r
		default:
			c.fail(at, "is no status")
		}
	}
}

func (c *compiler) response(at string, ref *openapi3.ResponseRef) *response {
	if ref == nil || ref.Value == nil {
		c.fail(at, "is not resolved")
		return nil
	}
	if r := c.answers[ref.Value]; r != nil {
		return r
	}
	at = place(at, ref.Ref)
	rest := *ref.Value
	rest.Description, rest.Headers, rest.Content, rest.Links = nil, nil, nil, nil
	c.refuseRest(at, &rest, ref.Value.Extensions)
	r := &response{content: make(map[string]*node)}
	c.answers[ref.Value] = r
	for _, name := range slices.Sorted(maps.Keys(ref.Value.Headers)) {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			continue // the content says it, as OpenAPI has it
		}
		at, header := at+"/headers/"+token(name), ref.Value.Headers[name]
		if header == nil || header.Value == nil {
			c.fail(at, "is not resolved")
			continue
		}
		source := header.Value.Parameter
		source.Name, source.In = name, openapi3.ParameterInHeader
		r.headers = append(r.headers, c.parameter(place(at, header.Ref), &source))
	}
	for _, name := range slices.Sorted(maps.Keys(ref.Value.Content)) {
		at := at + "/content/" + token(name)
		if name != mediaJSON && name != mediaProblem {
			c.fail(at, "is not %s or %s", mediaJSON, mediaProblem)
			continue
		}
		r.content[name] = c.mediaType(at, ref.Value.Content[name])
	}
	return r
}
