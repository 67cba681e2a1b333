package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// The server hangs at every fourth request of each method, or at every 32nd one in the short form; methods begin with
// different ones. Each time, the method returns an error although its context has no deadline.
func TestPostgres_returnsWhereverTheServerHangs(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the server hangs hundreds of times")
	const step = 4
	dsn := studiotest.NewPostgres(t)
	proxy, beside := studiotest.NewProxy(t, dsn), connect(t, dsn)
	db := studiotest.Open(t, proxy.DSN+"&connect_timeout=60") // which a busy machine may need
	fill(t, db, 1000)
	calls, hangs := 0, 0
	hang := func(call func() error) error {
		t.Helper()
		defer db.SetAnswerTimeout(harness.Timeout)
		calls++ // methods with few requests hang in turn
		timeout := 50 * time.Millisecond
		for n, again := calls%step+1, false; ; n, again = n+step, true {
			db.SetAnswerTimeout(timeout)
			proxy.FreezeAfter(n)
			err := returned(t, call)
			if !proxy.Frozen() && !db.Unavailable(err) {
				proxy.Thaw()
				if made := db.DomainError(err); again && (errors.Is(made, studio.ErrExists) || errors.Is(made, studio.ErrNotFound) || errors.Is(made, studio.ErrTooManyTests)) {
					return nil // a commit that took too long was made
				}
				return err
			}
			if proxy.Frozen() && err != nil {
				hangs++
			} else { // a healthy server took too long, or a cancel request was the one that hung
				timeout *= 2
				n -= step
			}
			proxy.Drop() // what the proxy has received never arrives
			proxy.Thaw()
			_, err = beside.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			check(t, err)
		}
	}
	ctx, recorded := t.Context(), 0
	for _, call := range []func() error{ // all others are queries and transactions of the engine
		func() error { _, err := db.NewLeaseHolder().Renew(ctx, false); return err },
		func() error { return db.NewLeaseHolder().Release(ctx, []int{1}, nil) },
		func() error { return db.NewLeaseHolder().ReleaseAll(ctx) },
		func() error {
			recorded += 10 // the one before may be recorded although the answer came too late
			return recordAttempt(ctx, db, studio.Event{ID: fmt.Sprintf("e%d", recorded), SubjectID: fmt.Sprintf("s%d", recorded)}, studio.Attempt{At: planNow()}, store.Outcome{State: studio.EventDelivered})
		},
	} {
		check(t, hang(call))
	}
	db.Intercept(hang)
	callEveryMethod(t, db, 1)
	t.Logf("the server hung %d times", hangs)
	if hangs < 800/step {
		t.Error("the server hung too rarely")
	}
}

// returned returns the error of a call, which must return soon.
func returned(t *testing.T, call func() error) (err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = call()
	}()
	select {
	case <-done:
	case <-time.After(harness.Timeout):
		t.Fatal("the call does not return")
	}
	return err
}

// A name may have several addresses, such as one of IPv6 and one of IPv4, and the first may hang.
func TestPostgres_connectsToTheAddressThatResponds(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewPostgres(t)
	hanging, healthy := studiotest.NewProxy(t, dsn), studiotest.NewProxy(t, dsn)
	hanging.Freeze()
	addressOf := func(proxy *studiotest.Proxy) string {
		through := try(url.Parse(proxy.DSN))(t)
		return through.Host
	}
	connection := try(store.ConnectByName(t.Context(), healthy.DSN, addressOf(hanging), addressOf(healthy)))(t)
	check(t, connection.Ping(t.Context()))
	check(t, connection.Close(t.Context()))
}

// A process that listens notices that the server hangs before the answer timeout of a running statement.
func TestPostgres_Listen_endsStatementsIfTheServerHangs(t *testing.T) {
	t.Parallel()
	proxy := studiotest.NewProxy(t, studiotest.NewPostgres(t))
	db := studiotest.Open(t, proxy.DSN)
	db.SetAnswerTimeout(time.Minute)
	check(t, db.CreateUser(t.Context(), user("ada")))
	create(t, db, subject("a", 0))
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.Listen(context.WithoutCancel(t.Context()), func() { close(ready) }, func(store.SignalKind, store.Flow) {})
	}()
	<-ready
	var began time.Time
	_, err := db.UpdateSubject(t.Context(), "a", func(*studio.Subject) error {
		proxy.Freeze()
		began = time.Now()
		return nil
	})
	wantError(t, err, studio.ErrBusy)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the statement ends after %v", took)
	}
	wantError(t, <-ended, store.ErrTimeout)
	proxy.Thaw()
	try(db.Subject(t.Context(), "a"))(t)
}
