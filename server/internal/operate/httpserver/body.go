package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
)

// handler tracks the progress of each request and limits its body and the memory of its response.
func (l *Listener) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(*conn)
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		if headersOf(r) > maxHeaders { // conn adds a problem with HTTP/1. With HTTP/2, the client could let the server wait for one.
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		c.handling.Store(true)
		c.touch()
		if r.ProtoMajor == 2 {
			c.requests.Add(1)
			if !l.beginStream(c) {
				server.WriteProblem(w, r, server.Busy(retryAfter, errNoStreams))
				return
			}
			context.AfterFunc(r.Context(), func() { l.endStream(c) }) // when the stream has been closed
		}
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			// net/http hides whether there was also a Content-Length, or with HTTP/1.0 a Transfer-Encoding. If there
			// was, the connection must be closed (RFC 9112, section 6.1).
			w.Header().Set("Connection", "close")
		}
		if strings.Contains(r.Header.Get("Range"), ",") {
			// Thousands of ranges cost much CPU time, and a server may ignore Range (RFC 9110, section 14.2).
			r.Header.Del("Range")
		}
		response := &response{ResponseWriter: w, conn: c}
		defer response.end()
		l.serve(next, response, r)
		_ = response.sendBuffer() // the client may have disconnected
		c.touch()
	})
}

// serve calls next with a limited body.
func (l *Listener) serve(next http.Handler, w *response, r *http.Request) {
	if r.ContentLength == 0 { // with HTTP/2, the Body is then not http.NoBody
		w.setReceived()
		next.ServeHTTP(w, r)
		return
	}
	b := &body{ReadCloser: r.Body, conn: w.conn, began: time.Now(), response: w}
	b.buffered = l.cfg.Streamed == nil || !l.cfg.Streamed(r)
	// A copy, because net/http looks at the type of its own Body to decide whether the client still
	// waits for 100 Continue. With another type, it waits for the body before it sends the response.
	r = r.WithContext(r.Context())
	r.Body = b
	defer b.release()
	next.ServeHTTP(w, r)
}

// body is a request body that is being received.
type body struct {
	io.ReadCloser
	conn     *conn
	response *response
	began    time.Time
	buffered bool // whether the body is buffered in memory

	n           int64
	charged     int64 // bytes counted in the limits
	deadlineSet bool  // whether this body has set a read deadline
}

var (
	errNoRoom    = errors.New("listener: request bodies exceed the memory limit")
	errNoStreams = errors.New("listener: too many requests")
)

func (b *body) Read(p []byte) (int, error) {
	control := http.NewResponseController(b.response)
	if b.n > 0 && !b.response.received {
		b.deadlineSet = true
		due := time.Duration(float64(b.n) / minBodyRate * float64(time.Second))
		_ = control.SetReadDeadline(b.began.Add(bodyGrace + due)) // not all connections support it
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.n == 0 {
		b.conn.received.Add(bodyBytes)
	}
	b.conn.received.Add(int64(n))
	b.n += int64(n)
	if n > 0 && float64(b.n) >= time.Since(b.began).Seconds()*minBodyRate {
		b.conn.touch()
	}
	if !b.charge() {
		return 0, server.Busy(retryAfter, errNoRoom)
	}
	if errors.Is(err, io.EOF) && !b.response.received {
		b.response.setReceived()
		if b.deadlineSet {
			_ = control.SetReadDeadline(time.Time{}) // otherwise it would interrupt the handler
		}
	}
	return n, err
}

// charge counts the received bytes in the limits. It returns false if a limit is exceeded.
func (b *body) charge() bool {
	more := b.n - freeBodyBytes - b.charged
	if !b.buffered || more <= 0 {
		return true
	}
	l := b.conn.listener
	b.charged += more
	all, own := l.bodyBytes.Add(more), b.conn.network.bodyBytes.Add(more)
	return all <= l.cfg.MaxBodyBytes && (b.conn.trusted || own <= l.cfg.MaxBodyBytes/2)
}

func (b *body) release() {
	if b.charged > 0 {
		b.conn.listener.bodyBytes.Add(-b.charged)
		b.conn.network.bodyBytes.Add(-b.charged)
	}
}
