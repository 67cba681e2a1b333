package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/metrics"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

type logins struct{ server.Unimplemented }

func (logins) Login(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return gen.Login200JSONResponse{AccessToken: "access", RefreshToken: "refresh"}, nil
}

// BenchmarkRequest measures the cost of counting a request with a trivial handler.
func BenchmarkRequest(b *testing.B) {
	m := metrics.New("v1")
	for name, count := range map[string]func(context.Context, server.Response){"not counted": nil, "counted": func(_ context.Context, a server.Response) { m.RecordResponse(a) }} {
		handler, err := server.New(logins{}, server.Config{
			Authenticator: server.AuthenticatorFunc(func(context.Context, string) (server.Principal, error) { return server.Principal{}, nil }),
			OnResponse:    count,
		})
		check(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequest(http.MethodPost, "/users/login", strings.NewReader(`{"email":"ada@example.com","password":"secret"}`))
				request.Header.Set("Content-Type", "application/json")
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, request)
				if response.Code != http.StatusOK {
					b.Fatal(response.Code, response.Body)
				}
			}
		})
	}
}

// BenchmarkScrape measures a scrape with and without a cached status of the queue.
func BenchmarkScrape(b *testing.B) {
	for name, create := range studiotest.Databases() {
		dsn := create(b)
		db := studiotest.Open(b, dsn)
		user := studiotest.AddUser(b, studio.New(studiotest.Config(db, time.Now)), "ada@example.com")
		backlog(b, dsn, user.ID, 100_000)
		m := metrics.New("v1")
		b.Run(name+"/100,000 due/read", func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Status(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/100,000 due/again", func(b *testing.B) {
			m.Watch(db)
			for b.Loop() {
				scrape(m)
			}
		})
	}
}
