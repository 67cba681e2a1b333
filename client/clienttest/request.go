package clienttest

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/memory"
)

// maxRecorded limits the recorded body. The service itself accepts less.
const maxRecorded = 2 << 20

// Request is a request that the service received, including its credentials.
type Request struct {
	// Operation is the operationId in the document, such as "createAvatar", or empty if the request
	// matches no operation.
	Operation string
	Method    string
	URL       *url.URL
	Header    http.Header

	// Body is the body of the request, at most 2 MiB. Status is the status of the response, or 0 if the
	// connection was closed without one. Both are set when the response is sent.
	Body   []byte
	Status int
}

// Requests returns the requests of the given operations, such as "login", in the order of their arrival.
// Without arguments it returns all requests.
func (s *Service) Requests(operations ...string) []Request {
	s.t.Helper()
	for _, operation := range operations {
		s.checkOperation(operation)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var requests []Request
	for _, request := range s.requests {
		if len(operations) == 0 || slices.Contains(operations, request.Operation) {
			requests = append(requests, *request)
		}
	}
	return requests
}

// serve records a request and handles it through the fault that applies. The record is complete before the client sees
// the response.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	read := &limitedBuffer{}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, read), r.Body}
	record := &Request{
		Operation: operationOf(r),
		Method:    r.Method,
		URL:       r.URL,
		Header:    r.Header.Clone(),
	}
	next := s.arrived(record)
	complete := func(status int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		record.Body, record.Status = read.data, status
	}
	response := &recorder{ResponseWriter: w, begin: func(status int) {
		_, _ = io.CopyN(io.Discard, r.Body, maxRecorded) // the rest of the body, which the response does not depend on
		complete(status)
	}}
	defer func() {
		cause := recover()
		switch {
		case cause == nil && response.status == 0:
			response.WriteHeader(http.StatusOK)
		case response.status == 0:
			complete(0)
		case cause != nil:
			_ = http.NewResponseController(w).Flush() // send what was written before the connection ends
		}
		if cause != nil {
			panic(cause)
		}
	}()
	next.ServeHTTP(response, r)
}

// arrived records a request and returns the handler for it.
func (s *Service) arrived(record *Request) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, record)
	handler := http.Handler(http.HandlerFunc(s.respond))
	if fault := s.nextFault(record.Operation); fault != nil {
		return fault(handler)
	}
	return handler
}

// respond handles a request without faults.
func (s *Service) respond(w http.ResponseWriter, r *http.Request) {
	response := &recorder{ResponseWriter: w, begin: func(int) {}}
	s.service.ServeHTTP(response, r)

	switch status := response.status; {
	case r.Context().Err() != nil: // the request was incomplete
	case status == http.StatusInternalServerError:
		s.t.Errorf("clienttest: the response to %s %s does not match the document; see the log", r.Method, r.URL.Path)
	case s.allowInvalid.Load():
	case status == http.StatusBadRequest, status == http.StatusMethodNotAllowed,
		status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType,
		status == http.StatusNotFound && operationOf(r) == "" && !strings.HasPrefix(r.URL.Path, memory.MediaPath):
		s.t.Errorf("clienttest: %s %s does not match the document (status %d): %s\nIf the test sends it on purpose, call AllowInvalid.",
			r.Method, r.URL.Path, status, response.problem) // which never has submitted values
	}
}

// recorder is a ResponseWriter that calls begin before the header is sent. It keeps the body of an error.
type recorder struct {
	http.ResponseWriter

	begin   func(status int)
	status  int // 0 until the response begins
	problem []byte
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.status >= http.StatusBadRequest {
		r.problem = append(r.problem, p...)
	}
	return r.ResponseWriter.Write(p)
}

// Flush sends the response so far.
func (r *recorder) Flush() {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(r.ResponseWriter).Flush() // the client may have disconnected
}

// Unwrap supports [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// limitedBuffer is a buffer that discards bytes beyond a limit.
type limitedBuffer struct{ data []byte }

func (b *limitedBuffer) Write(data []byte) (int, error) {
	b.data = append(b.data, data[:min(len(data), maxRecorded-len(b.data))]...)
	return len(data), nil
}
