package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
)

// The document describes the responses that net/http sends by itself. All other responses have a request id,
// and all other errors are problem documents.
func TestHandler_documentsResponsesOfNetHTTP(t *testing.T) {
	t.Parallel()
	handler, _ := setup(t, server.Unimplemented{})
	web := httptest.NewUnstartedServer(handler)
	web.Config.DisableGeneralOptionsHandler = true
	web.Start()
	t.Cleanup(web.Close)
	for _, test := range []struct {
		name, request string
		status        int
		below         bool
	}{
		{"a bad escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, true},
		{"a bad header", "GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n", 400, true},
		{"an unknown expectation", "POST /users/login HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nContent-Length: 2\r\n\r\n{}", 417, true},
		{"large headers", "GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", 431, true},
		{"an unknown encoding", "POST /users/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, true},
		{"another version", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, true},
		{"U+0000 in a path", "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", 404, false},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 404, false},
		{"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 404, false},
		{"HEAD of a POST", "HEAD /users/login HTTP/1.1\r\nHost: a\r\n\r\n", 405, false},
		{"a bad escape in a query", "GET /projects/v2?a=%zz HTTP/1.1\r\nHost: a\r\n\r\n", 401, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", web.Listener.Addr().String())
			check(t, err)
			defer func() { _ = conn.Close() }()
			check(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			go func() { _, _ = io.WriteString(conn, test.request) }() // the server does not always read the whole request
			method, _, _ := strings.Cut(test.request, " ")
			response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
			check(t, err)
			id, media := response.Header.Get("X-Request-Id"), response.Header.Get("Content-Type")
			if response.StatusCode != test.status || (id == "") != test.below || (media != "application/problem+json") != test.below {
				t.Errorf("status %d, request id %q, content type %q", response.StatusCode, id, media)
			}
			_ = response.Body.Close()
		})
	}
}
