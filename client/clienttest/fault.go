package clienttest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is something that goes wrong with a call: a handler in front of the one that carries the
// call out, which it may leave out, delay or spoil. Besides the faults of this package a test can
// have its own. What they write is held back until they return; a panic with
// [http.ErrAbortHandler] ends the connection after what was written.
type Fault func(next http.Handler) http.Handler

// scripted is a fault for the next calls of an operation.
type scripted struct {
	operation string // "" for all
	calls     int
	fault     Fault
}

// Fail gives the next n calls of an operation a fault. The operation is named by its
// operationId, such as "createAvatar"; "" are all, what is no operation included. A call has one
// fault at the most, the earliest that fits, and has it before the service looks at its token.
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

// nextFault takes the fault for a call from the script, or returns nil. s.mu is held.
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

// Status answers with an error in place of carrying out the call.
func Status(status int) Fault { return RetryAfter(status, 0) }

// RetryAfter is [Status] with a Retry-After header, rounded up to seconds.
func RetryAfter(status int, after time.Duration) Fault {
	return instead(func(w http.ResponseWriter, _ *http.Request) {
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

// HTML answers as something in between does, in place of carrying out the call.
func HTML(status int) Fault {
	return instead(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%d</title>\n<h1>%s</h1>\n", status, http.StatusText(status))
	})
}

// DropBefore ends the connection without reading the body: the call is not carried out.
func DropBefore() Fault {
	return instead(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// DropAfter carries out the call and ends the connection without an answer.
func DropAfter() Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&heldAnswer{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		})
	}
}

// DropMid carries out the call and ends the connection after half of the answer's body.
func DropMid() Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := &heldAnswer{header: http.Header{}}
			next.ServeHTTP(answer, r)
			answer.header.Set("Content-Length", strconv.Itoa(answer.body.Len()))
			answer.body.Truncate(answer.body.Len() / 2)
			answer.send(w)
			panic(http.ErrAbortHandler)
		})
	}
}

// Delay reads the request and waits before it carries out the call, which it does not when the
// caller goes in the meantime or the test ends.
func Delay(d time.Duration) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Only then does net/http notice that the caller goes.
			body, _ := io.ReadAll(io.LimitReader(r.Body, maxRecorded))
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-timer.C:
				next.ServeHTTP(w, r)
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		})
	}
}

// instead is a fault of calls that are not carried out.
func instead(handler http.HandlerFunc) Fault {
	return func(http.Handler) http.Handler { return handler }
}
