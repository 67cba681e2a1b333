package server

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// ResponseCheck says what to do about answers that the document forbids.
type ResponseCheck int

// The checks. Both hold an answer back in memory until it is complete, but for a stream: of an
// answer whose media type is not JSON, text or a form they check status, headers and content type.
const (
	// ResponsesUnchecked sends every answer as it is written.
	ResponsesUnchecked ResponseCheck = iota
	// ResponsesLogged logs what is wrong with an answer and sends it.
	ResponsesLogged
	// ResponsesEnforced logs what is wrong with an answer and sends a 500 in its place.
	ResponsesEnforced
)

func checkResponses(operation *validate.Operation, cfg Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &heldResponse{ResponseWriter: w, request: r, operation: operation, cfg: &cfg, header: w.Header().Clone()}
		next.ServeHTTP(held, r)
		if err := held.send(); err != nil { //nolint:contextcheck // held has the request
			writeProblem(w, r, internal(fmt.Errorf("the answer does not match the document: %w", err)))
		}
	})
}

// heldResponse keeps an answer in memory until it has been checked. Of a stream it checks the
// header, and lets the body pass.
type heldResponse struct {
	http.ResponseWriter
	request   *http.Request
	operation *validate.Operation
	cfg       *Config
	header    http.Header
	status    int
	body      bytes.Buffer
	stream    bool
	refusal   bool  // whether the validator refuses the request
	refused   bool  // whether nothing of a stream is sent
	why       error // it is refused
}

// report counts an answer that the document forbids. It returns whether it must not be sent, and
// logs it otherwise. What refuses a request is sent even if the document lacks the status.
func (w *heldResponse) report(err error) (enforced bool) {
	if w.cfg.OnInvalidResponse != nil {
		w.cfg.OnInvalidResponse(w.operation.ID())
	}
	if w.cfg.ValidateResponses == ResponsesEnforced && !w.refusal {
		return true
	}
	ctx := w.request.Context()
	w.cfg.Logger.ErrorContext(ctx, "answer does not match the document",
		"request_id", RequestID(ctx), "operation", w.operation.ID(), "err", err)
	return false
}

func (w *heldResponse) Header() http.Header { return w.header }

func (w *heldResponse) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	stream, err := w.operation.ResponseHeader(status, w.header)
	if w.stream = stream; !stream {
		return
	}
	if err != nil && w.report(err) {
		w.refused, w.why = true, err
		return
	}
	w.sendHeader()
}

func (w *heldResponse) Write(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.refused:
		return len(body), nil
	case w.stream:
		return w.ResponseWriter.Write(body)
	}
	return w.body.Write(body)
}

// ReadFrom lets the connection send a file by itself if the answer is a stream.
func (w *heldResponse) ReadFrom(body io.Reader) (int64, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.refused:
		return io.Copy(io.Discard, body)
	case w.stream:
		return io.Copy(w.ResponseWriter, body)
	}
	return w.body.ReadFrom(body)
}

// SetReadDeadline serves http.ResponseController.
func (w *heldResponse) SetReadDeadline(deadline time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(deadline)
}

// SetWriteDeadline serves http.ResponseController.
func (w *heldResponse) SetWriteDeadline(deadline time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(deadline)
}

// Flush sends what has been written of a stream.
func (w *heldResponse) Flush() {
	if w.stream && !w.refused {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // else it is sent later
	}
}

// send sends an answer that is not a stream, or returns why it must not be sent.
func (w *heldResponse) send() error {
	if w.stream {
		return w.why
	}
	if err := w.operation.Response(w.status, w.header, w.body.Bytes()); err != nil && w.report(err) {
		return err
	}
	w.sendHeader()
	_, _ = w.ResponseWriter.Write(w.body.Bytes()) // the caller may have gone
	return nil
}

func (w *heldResponse) sendHeader() {
	clear(w.ResponseWriter.Header())
	maps.Copy(w.ResponseWriter.Header(), w.header)
	w.ResponseWriter.WriteHeader(w.status)
}

func (w *heldResponse) hasBegun() bool { return w.status != 0 }
