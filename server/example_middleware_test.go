package server_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// logins implements one operation, whose database fails.
type logins struct{ server.Unimplemented }

func (logins) Login(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return nil, fmt.Errorf("find user: %w", sql.ErrNoRows)
}

// serve sends the same request several times and prints the responses.
func serve(times int, cfg server.Config) {
	cfg.Authenticator = tokens
	handler, err := server.New(logins{}, cfg)
	if err != nil {
		log.Fatal(err)
	}
	for range times {
		answer := do(handler, http.MethodPost, "/users/login", `{"email":"ada@example.com","password":"secret"}`, "X-Request-Id", "r-1")
		fmt.Println(answer.Code, answer.Header().Get("Retry-After"), answer.Body)
	}
}

// This example limits the rate of all requests, before authentication.
func ExampleConfig_wrap() {
	var requests atomic.Int64
	serve(2, server.Config{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) > 1 {
				server.WriteProblem(w, r, &server.Error{Status: http.StatusTooManyRequests, RetryAfter: time.Minute})
				return
			}
			next.ServeHTTP(w, r)
		})
	}})
	// Output:
	// 500  {"code":"internal_server_error","detail":"The service failed to process this request.","instance":"urn:request:r-1","request_id":"r-1","status":500,"title":"Internal Server Error","type":"about:blank"}
	// 429 60 {"code":"too_many_requests","instance":"urn:request:r-1","request_id":"r-1","status":429,"title":"Too Many Requests","type":"about:blank"}
}

// This example limits the rate of one operation by a member of the decoded request.
func ExampleConfig_middleware() {
	var tries atomic.Int64
	serve(2, server.Config{Middleware: []gen.StrictMiddlewareFunc{
		func(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
			return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
				login, ok := request.(gen.LoginRequestObject)
				if ok && login.Body.Email == "ada@example.com" && tries.Add(1) > 1 {
					return nil, &server.Error{Status: http.StatusTooManyRequests, Code: "too_many_logins", RetryAfter: time.Minute}
				}
				answer, err := next(ctx, w, r, request)
				fmt.Println(operationID, "failed:", err)
				return answer, err
			}
		},
	}})
	// Output:
	// login failed: find user: sql: no rows in result set
	// 500  {"code":"internal_server_error","detail":"The service failed to process this request.","instance":"urn:request:r-1","request_id":"r-1","status":500,"title":"Internal Server Error","type":"about:blank"}
	// 429 60 {"code":"too_many_logins","instance":"urn:request:r-1","request_id":"r-1","status":429,"title":"Too Many Requests","type":"about:blank"}
}

// This example maps the errors of an implementation to responses in one place.
func ExampleConfig_mapError() {
	serve(1, server.Config{MapError: func(_ context.Context, err error) *server.Error {
		if errors.Is(err, sql.ErrNoRows) {
			return &server.Error{Status: http.StatusUnauthorized, Code: "wrong_credentials"}
		}
		return nil // responds with 500
	}})
	// Output:
	// 401  {"code":"wrong_credentials","instance":"urn:request:r-1","request_id":"r-1","status":401,"title":"Unauthorized","type":"about:blank"}
}

// This example counts requests by operation and user, which are known after the request has been handled.
func ExampleOperationID() {
	handler, err := server.New(library{}, server.Config{
		Authenticator: tokens,
		Wrap: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				caller, ok := server.PrincipalFrom(r.Context())
				fmt.Println(server.OperationID(r.Context()), caller.UserID, ok)
			})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, token := range []string{"good", "bad"} {
		request := httptest.NewRequest(http.MethodGet, "/projects/v2", http.NoBody)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("X-Workspace-Id", "films")
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	// Output:
	// listProjects ada true
	// listProjects  false
}
