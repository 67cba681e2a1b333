package listener

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
)

// handler says of each request when it has come whole, and limits its body.
func (l *Listener) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connFrom(r.Context())
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		c.handling.Store(true)
		c.touch()
		if r.ProtoMajor == 2 {
			if !l.beginStream(c) {
				server.WriteProblem(w, r, busy(errNoStreams))
				return
			}
			context.AfterFunc(r.Context(), func() { l.endStream(c) }) // once the stream is closed
			w = &answer{w, c}
		}
		if len(r.TransferEncoding) > 0 {
			// A Content-Length beside Transfer-Encoding is not told from none, and after both the
			// connection must end (RFC 9112, 6.1).
			w.Header().Set("Connection", "close")
		}
		if r.Body == nil || r.Body == http.NoBody {
			c.serving.Add(1)
			defer c.serving.Add(-1)
			next.ServeHTTP(w, r)
			return
		}
		b := &body{ReadCloser: r.Body, conn: c, began: time.Now(), control: http.NewResponseController(w)}
		b.held = !l.cfg.Streamed(r)
		r.Body = b
		defer b.release()
		next.ServeHTTP(w, r)
	})
}

// body is the body of a request while it comes.
type body struct {
	io.ReadCloser
	conn    *conn
	control *http.ResponseController
	began   time.Time
	held    bool // in memory

	n       int64
	charged int64 // to the budget
	slow    bool  // whether there is a deadline of ours
	whole   bool
}

var (
	errNoRoom    = errors.New("listener: too many bytes of bodies in memory")
	errNoStreams = errors.New("listener: too many requests")
)

func busy(cause error) *server.Error {
	return &server.Error{
		Status: http.StatusServiceUnavailable, Code: "service_busy", Detail: "The service is busy. Try again later.",
		RetryAfter: retryAfter, Err: cause,
	}
}

func (b *body) Read(p []byte) (int, error) {
	rate := b.conn.listener.cfg.MinBodyRate
	if b.n > 0 && !b.whole {
		b.slow = true
		due := time.Duration(float64(b.n) / float64(rate) * float64(time.Second))
		_ = b.control.SetReadDeadline(b.began.Add(bodyGrace + due)) // as far as the connection can
	}
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if n > 0 && float64(b.n) >= time.Since(b.began).Seconds()*float64(rate) {
		b.conn.touch()
	}
	if !b.charge() {
		return 0, busy(errNoRoom)
	}
	if errors.Is(err, io.EOF) && !b.whole {
		b.whole = true
		b.conn.touch()
		b.conn.serving.Add(1)
		if b.slow {
			_ = b.control.SetReadDeadline(time.Time{}) // or it would end the handler
		}
	}
	return n, err
}

// charge takes what has come from the budget.
func (b *body) charge() bool {
	more := b.n - freeBodyBytes - b.charged
	if !b.held || more <= 0 {
		return true
	}
	l := b.conn.listener
	b.charged += more
	all, own := l.bodyBytes.Add(more), b.conn.network.bodyBytes.Add(more)
	return all <= l.cfg.MaxBodyBytes && (b.conn.trusted || own <= l.cfg.MaxBodyBytes/2)
}

func (b *body) release() {
	if b.whole {
		b.conn.serving.Add(-1)
	}
	if b.charged > 0 {
		b.conn.listener.bodyBytes.Add(-b.charged)
		b.conn.network.bodyBytes.Add(-b.charged)
	}
}
