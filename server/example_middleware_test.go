package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"
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
