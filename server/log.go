package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

const (
	requestIDHeader    = "X-Request-Id"
	maxRequestIDLength = 128
)

type requestIDKey struct{}

// withRequestID keeps the X-Request-Id of a request, or makes one, and returns it with the answer.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestIDHeader)
		if !validRequestID(id) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

func requestID(r *http.Request) string { return RequestID(r.Context()) }

// RequestID returns the id of the request that ctx belongs to.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// validRequestID takes what cannot do harm in a log or a URN.
func validRequestID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxRequestIDLength
}

// withAccessLog writes one line for each request. The route stands for the path, which may
// hold anything, and the query is left out.
func withAccessLog(logger *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		response := &response{ResponseWriter: w}
		defer func() { // also when the handler breaks the connection
			var route string
			if response.operation != nil {
				route = response.operation.Path()
			}
			logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("request_id", requestID(r)), slog.String("method", r.Method), slog.String("route", route),
				slog.Int("status", response.status), slog.Int64("bytes", response.bytes),
				slog.Duration("duration", time.Since(began)), slog.String("user_id", response.principal.UserID))
		}()
		next.ServeHTTP(response, r)
	})
}

// response remembers what was answered, and to whom.
type response struct {
	http.ResponseWriter
	status    int // 0 before the answer has begun
	bytes     int64
	operation *validate.Operation
	principal Principal
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(body []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(body)
	w.bytes += int64(n)
	return n, err
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) hasBegun() bool { return w.status != 0 }

func hasBegun(w http.ResponseWriter) bool {
	writer, ok := w.(interface{ hasBegun() bool })
	return ok && writer.hasBegun()
}

func setRoute(w http.ResponseWriter, operation *validate.Operation) {
	if response, ok := w.(*response); ok {
		response.operation = operation
	}
}

func setPrincipal(w http.ResponseWriter, r *http.Request) {
	if response, ok := w.(*response); ok {
		response.principal, _ = PrincipalFrom(r.Context())
	}
}
