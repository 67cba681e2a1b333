package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// mostConnections is how many requests are at a server at once; others wait here, and their time counts.
	mostConnections = 512
	// answerTimeout bounds one exchange.
	answerTimeout = 30 * time.Second
)

// pool keeps connections to a server. It does little for each request, because it shares the processors
// with what is measured.
type pool struct {
	address string
	free    chan *connection // nil for one that is not open
}

type connection struct {
	net.Conn
	reader *bufio.Reader
}

func newPool(address string) *pool {
	p := &pool{address: address, free: make(chan *connection, mostConnections)}
	for range mostConnections {
		p.free <- nil
	}
	return p
}

// close is for when no request is under way.
func (p *pool) close() {
	for range mostConnections {
		if c := <-p.free; c != nil {
			_ = c.Close()
		}
	}
}

// send sends a request and returns the status and the body of the answer.
func (p *pool) send(ctx context.Context, request string) (status int, body []byte, err error) {
	c := <-p.free
	if c == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
		if err != nil {
			p.free <- nil
			return 0, nil, err
		}
		c = &connection{conn, bufio.NewReader(conn)}
	}
	status, body, keep, err := c.exchange(request)
	if !keep || err != nil {
		_ = c.Close()
		c = nil
	}
	p.free <- c
	return status, body, err
}

func (c *connection) exchange(request string) (status int, body []byte, keep bool, err error) {
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return 0, nil, false, err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return 0, nil, false, err
	}
	answer, err := http.ReadResponse(c.reader, nil) //nolint:bodyclose // it is read to its end
	if err != nil {
		return 0, nil, false, err
	}
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, !answer.Close, err
}

// text writes a request, with headers as lines that end in \r\n.
func text(method, path, header, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: studio.example.com\r\n%s", method, path, header)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.String()
}
