package clienttest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"time"
)

// Fault simulates a failure of a call. It wraps the handler that processes the call, and may skip it, delay it or
// change its response. Tests may define their own faults. A fault that panics with [http.ErrAbortHandler] breaks the
// connection after what was written.
type Fault func(next http.Handler) http.Handler

// scripted is a fault for the next calls of an operation.
type scripted struct {
	operation string // operationId, or "" for all calls
	calls     int
	fault     Fault
}

// Fail applies a fault to the next n calls of an operation. The operation is an operationId, such as
// "createAvatar", or "" for all requests, even those that match no operation, such as a download of a file.
// Each call has at most one fault, the one that was added first of those that apply. The fault runs before
// the service checks the token. An n below 1 or an unknown operation fails the test.
func (s *Service) Fail(operation string, n int, fault Fault) {
	s.t.Helper()
	if operation != "" {
		s.checkOperation(operation)
	}
	if n < 1 || fault == nil {
		s.t.Fatalf("clienttest: Fail needs a call and a fault")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &scripted{operation: operation, calls: n, fault: fault})
}

// nextFault removes the fault for a call from the script, or returns nil. s.mu must be held.
func (s *Service) nextFault(operation string) Fault {
	i := slices.IndexFunc(s.faults, func(f *scripted) bool { return f.operation == "" || f.operation == operation })
	if i < 0 {
		return nil
	}
	due := s.faults[i]
	if due.calls--; due.calls == 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return due.fault
}

// Status responds with an error instead of processing the call. The status is from 400 to 599.
func Status(status int) Fault { return RetryAfter(status, 0) }

// RetryAfter is [Status] with a Retry-After header, rounded up to seconds.
func RetryAfter(status int, after time.Duration) Fault {
	return around(func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		if after > 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":%q,"status":%d}`, http.StatusText(status), status)
	})
}

// HTML responds with an HTML page, as a proxy might, instead of processing the call.
func HTML(status int) Fault {
	return around(func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%d</title>\n<h1>%s</h1>\n", status, http.StatusText(status))
	})
}

// DropBefore closes the connection without reading the body or processing the call.
func DropBefore() Fault {
	return around(func(http.Handler, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// DropAfter processes the call and closes the connection without a response. It waits for the end of the
// response, which that of streamEvents has only when the client gives up. So does [DropMid].
func DropAfter() Fault {
	return around(func(next http.Handler, _ http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}

// DropMid processes the call and closes the connection after half of the response body. A response without a body
// arrives as a whole.
func DropMid() Fault {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		response := httptest.NewRecorder()
		next.ServeHTTP(response, r)
		maps.Copy(w.Header(), response.Header())
		w.Header().Set("Content-Length", strconv.Itoa(response.Body.Len()))
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes()[:response.Body.Len()/2])
		panic(http.ErrAbortHandler)
	})
}

// Delay reads the request and waits before processing the call. The call is not processed if the client
// disconnects or the test ends during the delay.
func Delay(d time.Duration) Fault {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		// net/http detects that the client disconnected only after the body was read.
		body, _ := io.ReadAll(io.LimitReader(r.Body, maxRecorded))
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case <-time.After(d):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	})
}

// around returns a fault that calls handle with the handler that processes the call.
func around(handle func(next http.Handler, w http.ResponseWriter, r *http.Request)) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(next, w, r) })
	}
}
