package server_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

func TestMiddleware_firstElementIsOutermost(t *testing.T) {
	t.Parallel()
	var order []string
	wrapped := map[string]int{}
	note := func(name string) gen.StrictMiddlewareFunc {
		return func(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
			wrapped[operationID]++
			return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
				caller, _ := server.PrincipalFrom(ctx)
				order = append(order, name+" "+operationID+" "+caller.UserID)
				return next(ctx, w, r, request)
			}
		}
	}
	handler, _ := setup(t, server.Unimplemented{}, func(cfg *server.Config) {
		cfg.Middleware = []gen.StrictMiddlewareFunc{note("first"), note("second")}
	})
	problem(t, do(handler, "GET", details, "", bearer("bad")...), 401) // no middleware sees it, nor the next one
	problem(t, do(handler, "GET", "/v1/avatars/avatar_details", "", bearer("good")...), 400)
	for range 2 {
		problem(t, do(handler, "GET", details, "", bearer("good")...), 501)
	}
	want := slices.Repeat([]string{"first getAvatar ada", "second getAvatar ada"}, 2)
	if !slices.Equal(order, want) || wrapped["getAvatar"] != 2 {
		t.Errorf("the order is %v, want %v, and the operations are wrapped %v times", order, want, wrapped)
	}
	none := func(gen.StrictHandlerFunc, string) gen.StrictHandlerFunc { return nil }
	handler, _ = setup(t, server.Unimplemented{}, func(cfg *server.Config) { cfg.Middleware = []gen.StrictMiddlewareFunc{none} })
	problem(t, do(handler, "GET", details, "", bearer("good")...), 500) // a panic, and not 501 as without middleware
}

func TestMapError_mapsErrorsToResponses(t *testing.T) {
	t.Parallel()
	busy := &server.Error{Status: http.StatusServiceUnavailable}
	var failure error
	var mapped *server.Error
	handler, log := setup(t, service{getAvatar: func(context.Context, string) (gen.GetAvatarResponseObject, error) {
		return nil, failure
	}}, func(cfg *server.Config) {
		cfg.ValidateResponses = false
		cfg.MapError = func(ctx context.Context, _ error) *server.Error {
			if caller, _ := server.PrincipalFrom(ctx); caller.UserID != "ada" {
				t.Errorf("the caller is %v", caller)
			}
			return mapped
		}
	})
	for _, test := range []struct {
		err    error
		mapped *server.Error
		status int
		logged string
	}{
		{errBroken, &server.Error{Status: http.StatusNotFound}, 404, ""},
		{errors.New("disk on fire"), nil, 500, "disk on fire"},
		{&server.Error{Status: 409, Err: errBroken}, busy, 409, ""}, // a response stays
		{&validate.Error{Status: 413}, busy, 413, ""},               // and so does one of the validator
		{errBroken, busy, 503, "broken"},
		{errBroken, &server.Error{Status: http.StatusBadGateway, Err: errors.New("a cause of its own")}, 502, "a cause of its own"},
	} {
		failure, mapped = test.err, test.mapped
		log.Reset()
		problem(t, do(handler, "GET", details, "", bearer("good")...), test.status)
		if (strings.Count(log.String(), "request failed") == 1) != (test.logged != "") || !strings.Contains(log.String(), test.logged) {
			t.Errorf("the log is %s", log)
		}
	}
	if busy.Err != nil {
		t.Error("what MapError returned was changed")
	}
}

var errBroken = errors.New("broken")

// A response has headers of its own, so a middleware may change a value in place.
func TestWrap_runsInsideTheAccessLogAndTheRecovery(t *testing.T) {
	t.Parallel()
	handler, log := setup(t, server.Unimplemented{}, func(cfg *server.Config) {
		cfg.Wrap = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/panic" {
					w.Header()["Cache-Control"][0] = "public"
					panic("disk on fire")
				}
				server.WriteProblem(w, r, &server.Error{Status: http.StatusTooManyRequests})
			})
		}
	})
	problem(t, do(handler, "GET", "/panic", ""), 500)
	answer := do(handler, "OPTIONSECRET", "/", "", "X-Request-Id", "r-1") // no method of HTTP is as long
	if problem(t, answer, 429); !strings.Contains(log.String(), `"request_id":"r-1","method":"OPTIONS","route":"","status":429`) {
		t.Errorf("the log is %s", log)
	}
	if got := answer.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("the next response has Cache-Control: %s", got)
	}
}

// unread fails the test if it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// Requests are rejected after authentication and before their bodies are read.
func TestAdmit_runsBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	var asked []string
	handler, logged := setup(t, server.Unimplemented{}, func(cfg *server.Config) {
		cfg.Admit = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				caller, _ := server.PrincipalFrom(r.Context())
				asked = append(asked, server.OperationID(r.Context())+" "+caller.UserID)
				server.WriteProblem(w, r, &server.Error{
					Status: http.StatusTooManyRequests, Header: http.Header{"Ratelimit": {`"reads";r=0`}, "Content-Type": {"text/plain"}},
				})
			})
		}
	})
	for token, status := range map[string]int{"bad": 401, "good": 429} {
		request, answer := httptest.NewRequest("POST", "/v1/avatars/create_avatar", unread{t}), httptest.NewRecorder()
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(answer, request)
		if problem(t, answer, status); token == "good" && answer.Header().Get("Ratelimit") != `"reads";r=0` {
			t.Errorf("the answer has the headers %v", answer.Header())
		}
	}
	if !slices.Equal(asked, []string{"createAvatar ada"}) || !strings.Contains(logged.String(), `"ada"`) {
		t.Errorf("admission was asked for %q, and the log is %s", asked, logged)
	}
}

// holding buffers a response and sends it when it is complete.
func holding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := httptest.NewRecorder()
		next.ServeHTTP(held, r)
		maps.Copy(w.Header(), held.Header())
		w.WriteHeader(held.Code)
		_, _ = w.Write(held.Body.Bytes())
	})
}

func TestWrap_andAdmitMayBufferTheResponse(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"in memory":    holding,
		"until a time": func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "") },
	} {
		for _, check := range []bool{false, true} {
			handler, _ := setup(t, service{getAvatar: func(context.Context, string) (gen.GetAvatarResponseObject, error) {
				return gen.GetAvatar200JSONResponse{AvatarID: "a-1", Status: gen.AvatarStatusPublished}, nil
			}}, func(cfg *server.Config) { cfg.Wrap, cfg.Admit, cfg.ValidateResponses = wrap, wrap, check })
			answer := do(handler, "GET", details, "", bearer("good")...)
			if body := answer.Body.String(); answer.Code != 200 || !strings.HasPrefix(body, `{"avatar_id":"a-1"`) || strings.Contains(body, "detail") {
				t.Errorf("%s: %d %s", name, answer.Code, body)
			}
			problem(t, do(handler, "GET", details, "", bearer("bad")...), 401)
		}
	}
}

// authenticator is a function that is a server.Authenticator.
type authenticator func(context.Context, server.Credential) (context.Context, server.Principal, error)

func (a authenticator) Authenticate(ctx context.Context, c server.Credential) (context.Context, server.Principal, error) {
	return a(ctx, c)
}

type testKey struct{}

// A layer may pass on a context that is not derived from that of the request: what follows knows the request by the
// ResponseWriter. Without both, the response is 500, and the log says whose fault that is.
func TestLayers_mayReplaceTheContext(t *testing.T) {
	t.Parallel()
	other := context.WithValue(context.Background(), testKey{}, "kept")
	replacing := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(other)) })
	}
	losing := func(next http.Handler) http.Handler { return replacing(holding(next)) }
	for layer, change := range map[string]func(cfg *server.Config, replacing func(http.Handler) http.Handler){
		"Wrap":  func(cfg *server.Config, replacing func(http.Handler) http.Handler) { cfg.Wrap = replacing },
		"Admit": func(cfg *server.Config, replacing func(http.Handler) http.Handler) { cfg.Admit = replacing },
		"Authenticator": func(cfg *server.Config, _ func(http.Handler) http.Handler) {
			cfg.Authenticator = authenticator(func(context.Context, server.Credential) (context.Context, server.Principal, error) {
				return other, server.Principal{UserID: "ada"}, nil
			})
		},
		"Middleware": func(cfg *server.Config, _ func(http.Handler) http.Handler) {
			cfg.Middleware = []gen.StrictMiddlewareFunc{func(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
				return func(_ context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
					return next(other, w, r.WithContext(other), request)
				}
			}}
		},
	} {
		for _, check := range []bool{false, true} {
			var failed error
			handler, _ := setup(t, service{getAvatar: func(ctx context.Context, _ string) (gen.GetAvatarResponseObject, error) {
				caller, _ := server.PrincipalFrom(ctx)
				if id, operation := server.RequestID(ctx), server.OperationID(ctx); caller.UserID != "ada" || id != "r-1" || operation != "getAvatar" || ctx.Value(testKey{}) != "kept" {
					t.Errorf("%s: the caller is %v, the request %q, the operation %q", layer, caller, id, operation)
				}
				return gen.GetAvatar200JSONResponse{AvatarID: "a-1", Status: gen.AvatarStatusPublished}, failed
			}}, func(cfg *server.Config) { change(cfg, replacing); cfg.ValidateResponses = check })
			for _, failed = range []error{nil, errBroken} {
				answer := do(handler, "GET", details, "", append(bearer("good"), "X-Request-Id", "r-1")...)
				if want := map[bool]int{true: 200, false: 500}[failed == nil]; answer.Code != want || answer.Header().Get("X-Request-Id") != "r-1" {
					t.Errorf("%s: %d %s", layer, answer.Code, answer.Body)
				}
			}
		}
		if layer == "Authenticator" || layer == "Middleware" {
			continue
		}
		handler, log := setup(t, server.Unimplemented{}, func(cfg *server.Config) { change(cfg, losing) })
		if answer := do(handler, "GET", details, "", bearer("good")...); answer.Code != 500 || !strings.Contains(log.String(), "Config."+layer+" passes on neither a context") {
			t.Errorf("%s: the response is %d, and the log %s", layer, answer.Code, log)
		}
	}
}

// The access log line is written while the handler is still running.
func TestWrap_mayReturnBeforeTheHandler(t *testing.T) {
	t.Parallel()
	entered, done := make(chan struct{}), make(chan struct{})
	handler, log := setup(t, service{getAvatar: func(ctx context.Context, _ string) (gen.GetAvatarResponseObject, error) {
		close(entered)
		<-ctx.Done()
		defer close(done)
		return nil, ctx.Err()
	}}, func(cfg *server.Config) {
		cfg.Wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				go next.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
				<-entered
				server.WriteProblem(w, r, &server.Error{Status: http.StatusServiceUnavailable})
				cancel()
			})
		}
	})
	problem(t, do(handler, "GET", details, "", bearer("good")...), 503)
	if !strings.Contains(log.String(), `"user_id":"ada"`) {
		t.Errorf("the log is %s", log)
	}
	<-done
}
