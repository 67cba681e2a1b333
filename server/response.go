package server

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// checkResponses is the layer of Config.ValidateResponses.
func checkResponses(operation *validate.Operation, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buffered := &bufferedResponse{ResponseWriter: w, operation: operation, header: w.Header().Clone()}
		next.ServeHTTP(buffered, r)
		if err := buffered.send(); err != nil {
			writeProblem(w, r, invalidResponse(err))
		}
	})
}

func invalidResponse(err error) error {
	return internalError(fmt.Errorf("the response does not match the document: %w", err))
}

var _ stream.ItemChecker = (*bufferedResponse)(nil)

// bufferedResponse buffers a response in memory until it has been checked. If the response is streamed,
// bufferedResponse checks the header and passes the body through.
type bufferedResponse struct {
	http.ResponseWriter
	operation      *validate.Operation
	header         http.Header
	status         int
	body           bytes.Buffer
	stream         bool
	items          *validate.Items // nil if the items are not checked
	rejectsRequest bool            // whether the response is a rejection by the validator, whose status may be undeclared
	dropReason     error           // why a stream is dropped: its header is invalid
}

func (w *bufferedResponse) Header() http.Header { return w.header }

func (w *bufferedResponse) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	var err error
	if w.stream, w.items, err = w.operation.ResponseHeader(status, w.header); !w.stream {
		return
	}
	if w.dropReason = err; err == nil {
		w.sendHeader()
	}
}

// CheckItem implements [stream.ItemChecker].
func (w *bufferedResponse) CheckItem(item stream.Frame) error {
	if w.items == nil {
		return nil
	}
	if err := w.items.Check(item); err != nil {
		return invalidResponse(err)
	}
	return nil
}

func (w *bufferedResponse) Write(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.dropReason != nil:
		return len(body), nil //nolint:nilerr // FlushError and send return it
	case w.stream:
		return w.ResponseWriter.Write(body)
	}
	return w.body.Write(body)
}

// Unwrap supports [http.ResponseController].
func (w *bufferedResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends the written part of a stream. It does nothing for a buffered response.
func (w *bufferedResponse) Flush() { _ = w.FlushError() } // without flush support, the connection sends it later

// FlushError supports [http.ResponseController].
func (w *bufferedResponse) FlushError() error {
	switch {
	case w.dropReason != nil:
		return w.dropReason // ends a stream
	case !w.stream:
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// send checks and sends a buffered response. It returns an error if the response is invalid and must not be
// sent.
func (w *bufferedResponse) send() error {
	if w.stream {
		return w.dropReason
	}
	if err := w.operation.Response(w.status, w.header, w.body.Bytes()); err != nil && !w.rejectsRequest {
		return err
	}
	w.sendHeader()
	_, _ = w.ResponseWriter.Write(w.body.Bytes()) // the caller may have disconnected
	return nil
}

func (w *bufferedResponse) sendHeader() {
	clear(w.ResponseWriter.Header())
	maps.Copy(w.ResponseWriter.Header(), w.header)
	w.ResponseWriter.WriteHeader(w.status)
}

func (w *bufferedResponse) hasBegun() bool { return w.status != 0 }
