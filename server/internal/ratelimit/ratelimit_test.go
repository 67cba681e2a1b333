package ratelimit

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// An operation whose method is safe is limited as a read, and all other operations are not.
func TestClassOf_followsTheDocument(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.Spec)
	harness.Check(t, err)
	of := make(map[class]int)
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			class := classOf(operation.OperationID)
			if (class == reads) != (method == "GET") {
				t.Errorf("%s %s is of the class %d", method, path, class)
			}
			of[class]++
		}
	}
	if of[creations] != 3 || of[uploads] != 1 || of[changes] == 0 {
		t.Errorf("the classes have %v operations", of)
	}
}

// A user can use the burst at once, and then the rate. Other users and other classes have separate limits.
func TestLimiter_admitsTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Rate: 5})
		for i := range 10 {
			if wait := l.take("ada", reads); wait != 0 {
				t.Fatalf("request %d has to wait for %v", i, wait)
			}
		}
		if wait := l.take("ada", reads); wait < 99*time.Millisecond || wait > 100*time.Millisecond {
			t.Errorf("the request after them has to wait for %v, want 100ms", wait)
		}
		if l.take("ada", changes) != 0 || l.take("eve", reads) != 0 {
			t.Error("requests of another class or user are limited too")
		}
		time.Sleep(100 * time.Millisecond)
		if wait := l.take("ada", reads); wait != 0 {
			t.Errorf("after the wait, a request has to wait for %v", wait)
		}
	})
}

// Unused buckets are removed.
func TestLimiter_removesUnusedBuckets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{})
		ctx, stop := context.WithCancel(t.Context())
		go l.Run(ctx)
		l.take("ada", reads)
		time.Sleep(3 * bucketLifetime)
		l.mu.RLock()
		if len(l.buckets) != 0 {
			t.Error("a user who is away has a bucket")
		}
		l.mu.RUnlock()
		stop()
		synctest.Wait()
	})
}

// daemons returns n limiters that receive each other, except for silent ones.
func daemons(ctx context.Context, n, limit int, silent func(i int) bool) []*Limiter {
	all := make([]*Limiter, n)
	for i := range all {
		all[i] = New(Config{Rate: limit / 2, Publish: func(_ context.Context, message string) error {
			if silent(i) {
				return context.DeadlineExceeded
			}
			for _, l := range all {
				l.Receive(message)
			}
			return nil
		}})
	}
	for _, l := range all {
		go l.Run(ctx)
	}
	return all
}

// ask sends requests of a user at an even rate, and returns how many were admitted.
func ask(l *Limiter, perSecond int, period time.Duration) (admitted int) {
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticker.Stop()
	for range int(period.Seconds()) * perSecond {
		<-ticker.C
		if l.take("ada", reads) == 0 {
			admitted++
		}
	}
	return admitted
}

// However the requests of a user are distributed over the daemons, the total is within a fifth of the limit.
func TestLimiter_sharesLimitsBetweenDaemons(t *testing.T) {
	t.Parallel()
	const limit, period = 100, 10 * time.Second
	for _, rates := range [][]int{{300, 300}, {300, 0}, {30, 300}, {5, 300}, {60, 60}, {300, 300, 300}, {300, 5, 5, 5}, {20, 20}} {
		t.Run(fmt.Sprint(rates), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				all := daemons(ctx, len(rates), limit, func(int) bool { return false })
				time.Sleep(2 * announceInterval)
				for phase := range 3 { // a burst, the time after it, and a burst after a pause
					admitted, asked := make([]int, len(rates)), 0
					var asking sync.WaitGroup
					for i, perSecond := range rates {
						asked += perSecond
						if perSecond > 0 {
							asking.Go(func() { admitted[i] = ask(all[i], perSecond, period) })
						}
					}
					asking.Wait()
					sum := 0
					for _, n := range admitted {
						sum += n
					}
					want := math.Min(float64(asked), limit) * period.Seconds()
					if phase != 1 && asked > limit {
						want += limit
					}
					t.Logf("%d are admitted, %.0f wanted", sum, want)
					if math.Abs(float64(sum)-want) > want/5 {
						t.Errorf("phase %d: %d requests are admitted, want %.0f", phase, sum, want)
					}
					if phase == 1 {
						time.Sleep(10 * announceInterval)
					}
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// After a daemon stops, the others use its share.
func TestLimiter_usesTheShareOfAStoppedDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var gone atomic.Bool
		all := daemons(ctx, 2, 100, func(i int) bool { return i == 1 && gone.Load() })
		go func() { ask(all[1], 300, 3*time.Second) }()
		ask(all[0], 300, 3*time.Second)
		gone.Store(true)
		time.Sleep(peerLifetime + 2*announceInterval)
		if n := ask(all[0], 300, 10*time.Second); n < 1000 || n > 1100 {
			t.Errorf("%d requests are admitted in 10 seconds by the daemon that is left, want 1000", n)
		}
		stop()
		synctest.Wait()
	})
}

// Messages in an unknown format have no effect.
func TestLimiter_ignoresUnknownMessages(t *testing.T) {
	t.Parallel()
	l := New(Config{})
	for _, message := range []string{"", "null", "[]", `{"daemon":1}`, `{"daemon":"` + l.daemon + `"}`, `{"daemon":"a","used":{"ada":"all"}}`, `{}`} {
		l.Receive(message)
	}
	if n := len(l.peers); n != 0 {
		t.Errorf("%d daemons are counted", n)
	}
}

// Messages fit into a notification for any number of users.
func TestLimiter_splitsLongAnnouncements(t *testing.T) {
	t.Parallel()
	var other *Limiter
	longest := 0
	l := New(Config{Rate: 5, Publish: func(_ context.Context, message string) error {
		longest = max(longest, len(message))
		other.Receive(message)
		return nil
	}})
	other = New(Config{Rate: 5})
	const users = 1000
	used := make(map[string][classes]int)
	for i := range users {
		used[fmt.Sprintf("01936f3e-7c00-7a3b-8c44-%012d", i)] = [classes]int{20_000, 10_000, 10_000, 1000}
	}
	l.sendAnnouncement(t.Context(), used)
	if longest >= 8000 {
		t.Errorf("a message has %d bytes", longest)
	}
	if n := len(other.peers[l.daemon].used); n != users {
		t.Errorf("the other daemon hears of %d users, want %d", n, users)
	}
	l.sendAnnouncement(t.Context(), nil)
	if n := len(other.peers[l.daemon].used); n != 0 {
		t.Errorf("the other daemon still counts %d users", n)
	}
}

func BenchmarkTake(b *testing.B) {
	l := New(Config{Rate: math.MaxInt32 / 2})
	for i := range 10_000 {
		l.take(fmt.Sprintf("01936f3e-7c00-7a3b-8c44-%012d", i), reads)
	}
	const user = "01936f3e-7c00-7a3b-8c44-000000005000"
	b.ReportAllocs()
	for b.Loop() {
		l.take(user, classOf("listProjects"))
	}
}

// lists responds with an empty list.
type lists struct{ server.Unimplemented }

func (lists) ListLipsyncs(context.Context, gen.ListLipsyncsRequestObject) (gen.ListLipsyncsResponseObject, error) {
	return gen.ListLipsyncs200JSONResponse{Data: []gen.Lipsync{}}, nil
}

// BenchmarkHandler measures the cost of admission for a request.
func BenchmarkHandler(b *testing.B) {
	for name, admit := range map[string]func(http.Handler) http.Handler{
		"without": nil, "with": New(Config{Rate: math.MaxInt32 / 2}).Admit,
	} {
		handler, err := server.New(lists{}, server.Config{Admit: admit, Authenticator: server.AuthenticatorFunc(
			func(context.Context, string) (server.Principal, error) {
				return server.Principal{UserID: "01936f3e-7c00-7a3b-8c44-000000005000"}, nil
			},
		)})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			request := httptest.NewRequest(http.MethodGet, "/v1/lipsync/list", nil)
			request.Header.Set("Authorization", "Bearer token")
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(httptest.NewRecorder(), request)
			}
		})
	}
}
