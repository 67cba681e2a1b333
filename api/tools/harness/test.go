package harness

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Try returns the result of a call that must succeed, as in Try(os.ReadFile(name))(t).
func Try[T any](result T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Check(t, err)
		return result
	}
}

// Check fails a test if err is not nil.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError fails a test if got is not the error want.
func WantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

// Need skips a test if a program is not installed. In CI it fails the test instead.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v; it is a package of Debian's", err)
		}
	}
}

// SkipShort skips a test, or the rest of it, in the short form of the tests.
func SkipShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in the short form: " + reason)
	}
}

// Eventually waits until a condition is true. It polls, for conditions without a notification.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !Poll(t.Context(), Timeout, holds) {
		t.Fatalf("timeout: %s", what)
	}
}

// Run starts a command that is killed after the test. If the test fails, it shows the end of the log.
func Run(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	p := Try(start(command))(t)
	t.Cleanup(func() {
		p.Close()
		if t.Failed() {
			text := p.readLog()
			t.Logf("the log of %s ends with:\n%s", command.Path, text[max(0, len(text)-8<<10):])
		}
	})
	return p
}

// Buffer is a [bytes.Buffer] that may be read while it is written. Its zero value is empty.
type Buffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write appends data. It returns no error.
func (b *Buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

// String returns what was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
