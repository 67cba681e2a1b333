// Command mutate checks that the tests of the contract detect mistakes. It makes one edit at a time, to the document, to
// a row of api/interface_test.go or to a handler, and fails if the tests pass. It does not regenerate code, so the
// compiler cannot detect an edit.
//
//	go run ./api/mutate [-run REGEXP]
//
// The command prints the name of each edit. The flag -run selects edits by name. The command must run in the root of the
// module. It does not change the checkout: the tests read an edited document with their flag -document, and other
// edited files with the flag -overlay of the go command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// edit is a change that at least one test must detect.
type edit struct {
	name string // the mistake that the edit simulates
	file string // path relative to the root of the module
	// The edit replaces the first occurrence of old after the text after. An empty after means the
	// beginning of the file.
	after    string
	old, new string
	tests    []string // arguments of go test; contractTests if nil
}

// contractTests matches the tests of package api that read only the document.
const contractTests = "^Test(Document|Contract)"

// timeout limits the tests of one edit.
const timeout = 3 * time.Minute

func main() {
	pattern := flag.String("run", "", "make only the edits whose name matches this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *pattern); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, pattern string) error {
	selected, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	m := &mutator{dir: dir, contract: filepath.Join(dir, "contract.test")}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", m.contract, "./api").CombinedOutput(); err != nil { //nolint:gosec // path in a temporary directory
		return fmt.Errorf("building the tests of package api: %w\n%s", err, out)
	}
	edits := slices.DeleteFunc(slices.Concat(documentEdits(), rowEdits(), handlerEdits()), func(e edit) bool {
		return !selected.MatchString(e.name)
	})
	survived := m.all(ctx, edits)
	fmt.Fprintf(os.Stdout, "%d edits, %d not detected\n", len(edits), len(survived))
	return errors.Join(survived...)
}

type mutator struct {
	dir      string
	contract string // test binary of package api
}

// all makes every edit, concurrently on all CPUs, and returns an error for each edit that no test detects.
func (m *mutator) all(ctx context.Context, edits []edit) []error {
	queue := make(chan int)
	results := make([]error, len(edits))
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range queue {
				results[i] = m.try(ctx, i, edits[i])
			}
		})
	}
	for i := range edits {
		queue <- i
	}
	close(queue)
	workers.Wait()
	return slices.DeleteFunc(results, func(err error) bool { return err == nil })
}

// try makes one edit and runs its tests.
func (m *mutator) try(ctx context.Context, number int, e edit) error {
	content, err := os.ReadFile(e.file)
	if err != nil {
		return err
	}
	edited, err := e.apply(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	path := filepath.Join(m.dir, fmt.Sprintf("%d-%s", number, filepath.Base(e.file)))
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil { //nolint:gosec // path in a temporary directory
		return err
	}
	out, err := m.test(ctx, path, e)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return fmt.Errorf("%s: not detected by a test", e.name)
	case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic:"):
		return fmt.Errorf("%s: the tests did not run: %w\n%s", e.name, err, out)
	}
	fmt.Fprintf(os.Stdout, "detected: %s\n", e.name)
	return nil
}

// test runs the tests of an edit on the edited file, and returns their output and result.
func (m *mutator) test(ctx context.Context, edited string, e edit) (string, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var command *exec.Cmd
	if e.file == document && e.tests == nil {
		command = exec.CommandContext(limited, m.contract, "-test.run", contractTests, "-document", edited) //nolint:gosec // path in a temporary directory
		command.Dir = "api"
	} else {
		overlay, err := m.overlay(e.file, edited)
		if err != nil {
			return "", err
		}
		tests := e.tests
		if tests == nil {
			tests = []string{"./api", "-run", contractTests}
		}
		command = exec.CommandContext(limited, "go", slices.Concat([]string{"test", "-vet=off", "-overlay", overlay}, tests)...) //nolint:gosec // constant arguments
	}
	out, err := command.CombinedOutput()
	return string(out), err
}

// overlay writes an overlay file that makes the go command read edited instead of file.
func (m *mutator) overlay(file, edited string) (string, error) {
	place, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	path := edited + ".overlay"
	return path, os.WriteFile(path, fmt.Appendf(nil, `{"Replace":{%q:%q}}`, place, edited), 0o600)
}

func (e edit) apply(content string) (string, error) {
	start := strings.Index(content, e.after)
	if start < 0 {
		return "", fmt.Errorf("%s does not contain %q", e.file, e.after)
	}
	start += len(e.after)
	at := strings.Index(content[start:], e.old)
	if at < 0 || e.old == e.new {
		return "", fmt.Errorf("%s does not contain %q after %q", e.file, e.old, e.after)
	}
	at += start
	return content[:at] + e.new + content[at+len(e.old):], nil
}
