package httpserver

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// retryAfter is the Retry-After of a request that is not admitted.
const retryAfter = time.Second

// problem returns the problem document that replaces a response of net/http, or nil if the response is not an
// error.
func (c *conn) problem(response []byte) []byte {
	line := response[len("HTTP/1.1 "):]
	if len(line) < 3 {
		return nil
	}
	status, err := strconv.Atoi(string(line[:3]))
	if err != nil || status < http.StatusBadRequest {
		return nil
	}
	return c.problemOf(status, detailOf(status))
}

func (c *conn) problemOf(status int, detail string) []byte {
	title, id := http.StatusText(status), strings.ToLower(rand.Text())
	code := strings.ReplaceAll(strings.ToLower(title), " ", "_")
	retryHeader := ""
	if status == http.StatusServiceUnavailable {
		code = server.Busy(retryAfter, nil).Code
		retryHeader = fmt.Sprintf("Retry-After: %d\r\n", retryAfter/time.Second)
	}
	body, err := json.Marshal(gen.Problem{
		Type: "about:blank", Title: title, Status: int32(status), Code: &code, //nolint:gosec // three digits
		Detail: &detail, Instance: new("urn:request:" + id), RequestID: &id,
	})
	if err != nil { // cannot happen for a struct of strings and numbers
		panic(err)
	}
	c.listener.cfg.Logger.Info("request refused", "request_id", id, "status", status, "client", addressOf(c.RemoteAddr()).String())
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nCache-Control: no-store\r\nConnection: close\r\n"+
		"Content-Length: %d\r\nContent-Type: application/problem+json\r\nDate: %s\r\n%sX-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\n\r\n%s",
		status, title, len(body), time.Now().UTC().Format(http.TimeFormat), retryHeader, id, body)
}

func detailOf(status int) string {
	switch status {
	case http.StatusExpectationFailed:
		return "Expect must be 100-continue."
	case http.StatusRequestHeaderFieldsTooLarge:
		return "The headers are too large."
	case http.StatusNotImplemented:
		return "Transfer-Encoding must be chunked."
	case http.StatusHTTPVersionNotSupported:
		return "The version of HTTP is not supported."
	case http.StatusServiceUnavailable:
		return server.Busy(retryAfter, nil).Detail
	}
	return "The request is not valid HTTP."
}
