package httpserver_test

import (
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

// The kernel buffers little for a client that reads nothing.
func TestListener_limitsUnsentData(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	address := serveTCP(t, httpserver.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		control, n := http.NewResponseController(w), 0
		_ = control.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		for control.Flush() == nil {
			n += 16 << 10
			_, _ = w.Write(make([]byte, 16<<10))
		}
		written <- n
	})
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
	}}
	c := harness.Try(dialer.DialContext(t.Context(), "tcp", address))(t)
	defer func() { _ = c.Close() }()
	harness.Try(io.WriteString(c, get))(t)
	if n := <-written; n > 256<<10 {
		t.Errorf("%d bytes are written", n)
	}
}
