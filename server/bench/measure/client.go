package measure

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

const (
	// exchangeTimeout bounds a request and its response.
	exchangeTimeout = 30 * time.Second
	// readBuffer holds a list of projects, and more than the longest line of a header.
	readBuffer = 32 << 10
)

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
		conn = &connection{dialed, bufio.NewReaderSize(dialed, readBuffer)}
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
	if err := c.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return response, false, err
	}
	if _, err := c.Write(request); err != nil {
		return response, false, err
	}
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return response, false, err
	}
	if response.Status, err = strconv.Atoi(string(line[min(len(line), len("HTTP/1.1 ")):min(len(line), len("HTTP/1.1 200"))])); err != nil {
		return response, false, fmt.Errorf("no response: %q", line)
	}
	length, chunked, keep := 0, false, true
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return response, false, err
		}
		name, value, found := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		if !found {
			break
		}
		switch string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return response, false, err
			}
		case "Transfer-Encoding":
			chunked = true // net/http has no other encoding
		case "Connection":
			keep = false
		}
	}
	if chunked {
		if response.Body, err = io.ReadAll(httputil.NewChunkedReader(c.reader)); err == nil {
			_, err = c.reader.ReadSlice('\n') // after the last chunk
		}
	} else {
		response.Body = make([]byte, length)
		_, err = io.ReadFull(c.reader, response.Body)
	}
	return response, keep && err == nil, err
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
