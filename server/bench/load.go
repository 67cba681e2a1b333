package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// load is a set of connections to one server. Each connection sends the same request repeatedly, without
// pipelining.
type load struct {
	request     []byte
	connections []*connection
}

type connection struct {
	net.Conn
	reader *bufio.Reader
}

func dial(ctx context.Context, address string, connections int) (*load, error) {
	l := &load{request: wire(http.MethodPost, createLipsync, goodHeader, smallBody)}
	for range connections {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			l.close()
			return nil, err
		}
		l.connections = append(l.connections, &connection{conn, bufio.NewReader(conn)})
	}
	return l, nil
}

func (l *load) close() {
	for _, c := range l.connections {
		_ = c.Close()
	}
}

// run sends requests for the duration and returns the number of responses.
func (l *load) run(duration time.Duration) (int, error) {
	until := time.Now().Add(duration)
	counts, errs := make([]int, len(l.connections)), make([]error, len(l.connections))
	var wg sync.WaitGroup
	for i, c := range l.connections {
		wg.Go(func() {
			for time.Now().Before(until) && errs[i] == nil {
				errs[i] = c.exchange(l.request)
				counts[i]++
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return sum, errors.Join(errs...)
}

// exchange sends a request and reads the response, which must be a 200 with a Content-Length.
func (c *connection) exchange(request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	status, err := c.reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("unexpected response: %s", bytes.TrimSpace(status))
	}
	length := -1
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == len("\r\n") {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length <= 0 {
		return errors.New("response without Content-Length")
	}
	_, err = io.CopyN(io.Discard, c.reader, int64(length))
	return err
}
