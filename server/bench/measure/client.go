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

// Response is the response to a request.
type Response struct {
	Status int
	Body   []byte
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
func (c *Client) Send(request []byte) (response Response, err error) {
	conn := <-c.free
	defer func() { c.free <- conn }()
	if conn == nil {
		dialed, err := net.DialTimeout("tcp", c.address, exchangeTimeout)
		if err != nil {
			return response, err
		}
		conn = &connection{dialed, bufio.NewReader(dialed)}
	}
	response, keep, err := conn.exchange(request)
	if !keep {
		_ = conn.Close()
		conn = nil
	}
	return response, err
}

// SendOK is like Send. It returns the body, and an error unless the status is 2xx.
func (c *Client) SendOK(request []byte) (body []byte, err error) {
	response, err := c.Send(request)
	if err == nil && response.Status/100 != http.StatusOK/100 {
		err = fmt.Errorf("status %d: %.200s", response.Status, response.Body)
	}
	return response.Body, err
}

func (c *connection) exchange(request []byte) (response Response, keep bool, err error) {
	err = c.SetDeadline(time.Now().Add(exchangeTimeout))
	if err == nil {
		_, err = c.Write(request)
	}
	if err != nil {
		return response, false, err
	}
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return response, false, err
	}
	response.Status = r.StatusCode
	response.Body, err = io.ReadAll(r.Body)
	return response, !r.Close && err == nil, err
}

// Serve serves a handler on a free port until the server is closed. Unlike package httptest, it adds no work to a
// request.
func Serve(handler http.Handler) (url string, server *http.Server, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), server, nil
}
