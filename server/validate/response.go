package validate

import (
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
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
	w.direction = o.direction ^ (inRequest | inResponse)
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

func (c *compiler) responses(o *Operation, source *document.Node) {
	if source == nil {
		return
	}
	for _, m := range source.Members {
		if strings.HasPrefix(m.Name, "x-") {
			continue
		}
		r := c.response(m.Value)
		switch code, err := strconv.Atoi(m.Name); {
		case m.Name == "default":
			o.fallback = r
		case err == nil:
			o.exact[code] = r
		default: // 2XX
			o.ranges[m.Name[0]-'0'] = r
		}
	}
}

func (c *compiler) response(source *document.Node) *response {
	if source = c.resolve(source); source == nil {
		return nil
	}
	if r := c.answers[source]; r != nil {
		return r
	}
	r := &response{content: make(map[string]*node)}
	c.answers[source] = r
	if headers := source.Get("headers"); headers != nil {
		for _, m := range headers.Members {
			if textproto.CanonicalMIMEHeaderKey(m.Name) == "Content-Type" {
				continue // the content says it, as OpenAPI has it
			}
			if header := c.resolve(m.Value); header != nil {
				r.headers = append(r.headers, c.parameter(header, m.Name, nil))
			}
		}
	}
	if content := source.Get("content"); content != nil {
		for _, m := range content.Members {
			if m.Name != mediaJSON && m.Name != mediaProblem {
				c.refuseAt(content, m, "is not "+mediaJSON+" or "+mediaProblem)
				continue
			}
			r.content[m.Name] = c.mediaType(m.Value)
		}
	}
	return r
}
