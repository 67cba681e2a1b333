package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// maxConnections bounds the connections, and so the concurrent requests. Latencies include the wait for a
	// connection.
	maxConnections = 512
	// exchangeTimeout bounds a request and its response.
	exchangeTimeout = 30 * time.Second
	// usualBody is the size of a buffer that holds a list of projects.
	usualBody = 32 << 10
)

// pool is an HTTP/1.1 client with persistent connections to one server. It uses less CPU time than net/http, because it
// shares the CPUs with the measured program. It is safe for concurrent use.
type pool struct {
	address string
	free    chan *connection // nil for a connection that is not open
}

type connection struct {
	net.Conn
	reader *bufio.Reader
}

func newPool(address string) *pool {
	p := &pool{address: address, free: make(chan *connection, maxConnections)}
	for range maxConnections {
		p.free <- nil
	}
	return p
}

// close closes the connections. It waits for concurrent requests.
func (p *pool) close() {
	for range maxConnections {
		if c := <-p.free; c != nil {
			_ = c.Close()
		}
	}
}

// send sends a request from rawRequest and returns the status and the body of the response.
func (p *pool) send(ctx context.Context, request string) (status int, body []byte, err error) {
	c := <-p.free
	if c == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.address)
		if err != nil {
			p.free <- nil
			return 0, nil, err
		}
		c = &connection{conn, bufio.NewReaderSize(conn, usualBody)}
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
	if err := c.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return 0, nil, false, err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return 0, nil, false, err
	}
	response, err := http.ReadResponse(c.reader, nil) //nolint:bodyclose // it is read to its end
	if err != nil {
		return 0, nil, false, err
	}
	buffer := bytes.NewBuffer(make([]byte, 0, usualBody))
	_, err = buffer.ReadFrom(response.Body)
	return response.StatusCode, buffer.Bytes(), !response.Close, err
}

// rawRequest encodes a request. Each line of header must end with \r\n.
func rawRequest(method, path, header, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: studio.example.com\r\n%s", method, path, header)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.String()
}
