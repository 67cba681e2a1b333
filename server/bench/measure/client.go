package measure

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// exchangeTimeout bounds a request and its response.
const exchangeTimeout = 30 * time.Second

// Client is an HTTP/1.1 client with persistent connections to one server. It needs less CPU time than that of net/http,
// because it shares the CPUs with the measured program. It is safe for concurrent use.
type Client struct {
	address string
	free    chan *connection // nil for a connection that is not open
}

type connection struct {
	net.Conn
	reader *bufio.Reader
}

// NewClient returns a client of the server at an http URL. connections bounds the concurrent requests; further requests
// wait.
func NewClient(url string, connections int) *Client {
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	c := &Client{address: address, free: make(chan *connection, connections)}
	for range connections {
		c.free <- nil
	}
	return c
}

// Close closes the connections. It waits for concurrent requests.
func (c *Client) Close() {
	for range cap(c.free) {
		if conn := <-c.free; conn != nil {
			_ = conn.Close()
		}
	}
}

// Request encodes a request. Each line of header ends with \r\n.
func Request(method, path, header, body string) []byte {
	if body != "" {
		header += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\n" + header + "\r\n" + body)
}

// Send sends a request that [Request] encoded.
func (c *Client) Send(request []byte) (status int, body []byte, err error) {
	conn := <-c.free
	defer func() { c.free <- conn }()
	if conn == nil {
		dialed, err := net.DialTimeout("tcp", c.address, exchangeTimeout)
		if err != nil {
			return 0, nil, err
		}
		conn = &connection{dialed, bufio.NewReader(dialed)}
	}
	response, err := conn.exchange(request)
	if err == nil {
		status = response.StatusCode
		body, err = io.ReadAll(response.Body)
	}
	if err != nil || response.Close {
		_ = conn.Close()
		conn = nil
	}
	return status, body, err
}

// SendOK is like Send. It returns an error unless the status is 2xx.
func (c *Client) SendOK(request []byte) (body []byte, err error) {
	status, body, err := c.Send(request)
	if err == nil && status/100 != http.StatusOK/100 {
		err = fmt.Errorf("status %d: %.200s", status, body)
	}
	return body, err
}

// exchange sends a request and reads the header of its response.
func (c *connection) exchange(request []byte) (*http.Response, error) {
	if err := c.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.reader, nil)
}
