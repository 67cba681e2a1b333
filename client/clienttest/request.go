package clienttest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
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

// serve records a request and handles it through the fault that applies. It sends the response when the
// record is complete.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	read := &limitedBuffer{}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, read), r.Body}
	record := &Request{
		Operation: document().operation(r),
		Method:    r.Method,
		URL:       r.URL,
		Header:    r.Header.Clone(),
	}
	next := s.arrived(record)
	response := newRecorder(w)
	response.begin = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		record.Body, record.Status = read.data, response.Code
	}
	defer func() {
		cause := recover()
		if cause == nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxRecorded) // the rest of the body, which the response did not depend on
		}
		response.begin()
		response.send()
		if cause != nil {
			if response.Code != 0 {
				_ = http.NewResponseController(w).Flush() // send what was written before the connection ends
			}
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
	response := newRecorder(w)
	s.service.ServeHTTP(response, r)
	response.send()

	switch status := response.Code; {
	case r.Context().Err() != nil: // the request was incomplete
	case status == http.StatusInternalServerError:
		s.t.Errorf("clienttest: the response to %s %s does not match the document; see the log", r.Method, r.URL.Path)
	case status == http.StatusBadRequest, status == http.StatusMethodNotAllowed,
		status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType,
		status == http.StatusNotFound && document().operation(r) == "":
		s.forbidden(r, response)
	}
}

// forbidden fails the test if the document forbids the request, unless AllowInvalid was called.
func (s *Service) forbidden(r *http.Request, response *recorder) {
	s.mu.Lock()
	allowed := s.allowInvalid
	s.mu.Unlock()
	if !allowed {
		s.t.Errorf("clienttest: %s %s does not match the document (status %d): %s\nIf the test sends it on purpose, call AllowInvalid.",
			r.Method, r.URL.Path, response.Code, response.Body) // which never has submitted values
	}
}

// recorder buffers a response until it is flushed.
type recorder struct {
	*httptest.ResponseRecorder // Code is 0 until the response begins

	to    http.ResponseWriter // the connection or another recorder; nil if flushing must send nothing
	begin func()              // called before the header is sent, unless it is nil
	begun bool
}

func newRecorder(to http.ResponseWriter) *recorder {
	r := &recorder{ResponseRecorder: httptest.NewRecorder(), to: to}
	r.Code = 0
	return r
}

// send sends what was not sent before.
func (r *recorder) send() {
	if r.Code == 0 {
		return
	}
	if !r.begun {
		r.begun = true
		maps.Copy(r.to.Header(), r.Header())
		r.to.WriteHeader(r.Code)
	}
	_, _ = r.to.Write(r.Body.Bytes()) // the client may have disconnected
}

// Flush sends the response so far.
func (r *recorder) Flush() {
	if r.to == nil {
		return
	}
	if r.begin != nil && !r.begun {
		r.begin()
	}
	r.send()
	r.Body.Reset()
	_ = http.NewResponseController(r.to).Flush() // the client may have disconnected
}

// Unwrap supports [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.to }

// limitedBuffer is a buffer that discards bytes beyond a limit.
type limitedBuffer struct{ data []byte }

func (b *limitedBuffer) Write(data []byte) (int, error) {
	b.data = append(b.data, data[:min(len(data), maxRecorded-len(b.data))]...)
	return len(data), nil
}
