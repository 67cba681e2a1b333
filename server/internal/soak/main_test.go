// Package soak injects the faults that a whole service must survive: its processes are killed at
// every moment, its database goes away, fills up or is kept by others, its receivers hang and fail.
// The daemons are real processes, the receivers are package faultserver's, and after each fault the
// same promises are checked; see [receivers].
//
// The tests take as long as -soak.scale says. They wait for what receivers get, for what daemons
// log and for what the database says, never for time to pass.
package soak_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// scale multiplies the events and the kills of the tests.
var scale = flag.Int("soak.scale", 1, "how many times larger the tests are than with 1")

// patience is how long a test of scale 1 waits for what must happen.
const patience = time.Minute

var programDirectory string

func TestMain(m *testing.M) {
	flag.Parse()
	err := flag.Set("test.parallel", "6") // most of the time a test waits for processes and timeouts
	if err == nil {
		programDirectory, err = os.MkdirTemp("", "soak")
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(programDirectory)
		os.Exit(code)
	}))
}

// program is the daemon, built for this run.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDirectory, "studiod")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", path, "../../cmd/studiod")
	build.Stderr = os.Stderr
	return path, build.Run()
})

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// untilDone bounds a wait.
func untilDone(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), patience*time.Duration(*scale))
}

// eventually polls for what nothing announces.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := untilDone(t)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("%s did not come true", what)
		}
	}
}

// bell wakes everybody who waits for a change. Its zero value is ready.
type bell struct{ changed chan struct{} }

// ring needs the lock of what changed, as next does.
func (b *bell) ring() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

func (b *bell) next() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// wait returns when holds, which is called with the lock, is true at some change.
func (b *bell) wait(ctx context.Context, lock sync.Locker, holds func() bool) error {
	for {
		lock.Lock()
		done, next := holds(), b.next()
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
