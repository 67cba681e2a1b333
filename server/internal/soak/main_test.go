// Package soak tests a service under faults: daemons are killed or frozen, the database is unreachable, full or
// locked, and receivers hang and fail. The daemons are processes of studiod. The receivers, which use package
// faultserver, check the promises about deliveries with every request; see [receivers].
//
// The flag -soak.scale multiplies the load and the number of faults. Tests wait for requests, log lines and rows,
// not for fixed times.
package soak_test

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/gobuild"
)

var scale = flag.Int("soak.scale", 1, "factor for the number of events and faults")

// maxWait bounds a wait in a test with scale 1.
const maxWait = time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	err := flag.Set("test.parallel", "6") // tests mostly wait for processes and timeouts
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const daemonPackage = "github.com/avatarstudio/avatarstudio/server/cmd/studiod"

// daemonProgram builds studiod once and returns its path.
var daemonProgram = sync.OnceValues(func() (string, error) {
	return gobuild.Program(context.Background(), daemonPackage)
})

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waitContext returns a context that bounds a wait.
func waitContext(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), maxWait*time.Duration(*scale))
}

// eventually waits until condition returns true. It polls, for conditions without a notification.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := waitContext(t)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("timeout: %s", what)
		}
	}
}

// broadcaster wakes all goroutines that wait for a change. Its zero value is ready to use. broadcast and next must be
// called with the lock of the changed data.
type broadcaster struct{ changed chan struct{} }

func (b *broadcaster) broadcast() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

func (b *broadcaster) next() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// wait returns when condition, which is called with the lock after each change, is true.
func (b *broadcaster) wait(ctx context.Context, lock sync.Locker, condition func() bool) error {
	for {
		lock.Lock()
		done, next := condition(), b.next()
		lock.Unlock()
		if done {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
