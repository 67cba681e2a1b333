package server

import (
	"io"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// beginTracker is a ResponseWriter that reports whether the response has begun. After that, no other response
// can be sent.
type beginTracker interface{ hasBegun() bool }

func hasBegun(w http.ResponseWriter, r *http.Request) bool {
	if writer, ok := stream.As[beginTracker](w); ok {
		return writer.hasBegun()
	}
	x := exchangeFrom(r.Context())
	return x != nil && x.hasBegun()
}

// trackedResponse makes any ResponseWriter a beginTracker. It is a part of the exchange. Config.Wrap and Config.Admit
// may pass a ResponseWriter that buffers the response, so that the exchange does not see it begin.
type trackedResponse struct {
	http.ResponseWriter
	status int // 0 before the response has begun
	bytes  int64
}

func (w *trackedResponse) begin(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
}

func (w *trackedResponse) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status) // panics if it is no status
	w.begin(status)
}

func (w *trackedResponse) Write(body []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(body)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom implements [io.ReaderFrom], so that the connection can use sendfile.
func (w *trackedResponse) ReadFrom(body io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	n, err := io.Copy(w.ResponseWriter, body)
	w.bytes += n
	return n, err
}

// Flush implements [http.Flusher]. It does nothing if the connection does not support flushing.
func (w *trackedResponse) Flush() { _ = w.FlushError() }

// FlushError supports [http.ResponseController]. It begins the response, as that of net/http does.
func (w *trackedResponse) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap supports [http.ResponseController].
func (w *trackedResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *trackedResponse) hasBegun() bool { return w.status != 0 }
