// Command mutate checks that the tests detect a service that contradicts the contract. It makes one edit at a time, to a
// handler, and fails if the tests pass. Tests of package api do the same with the document.
//
//	go run ./api/mutate [-run REGEXP]
//
// The command prints the name of each edit. The flag -run selects edits by name. The command must run in the root of the
// module. It does not change the checkout: the tests read edited files with the flag -overlay of the go command.
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
}

// timeout limits the tests of one edit, and the compilation of their dependencies.
const timeout = 10 * time.Minute

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

// run makes the selected edits, concurrently on all CPUs. Its error contains an error for each edit that no test detects.
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
	edits := slices.DeleteFunc(edits(), func(e edit) bool { return !selected.MatchString(e.name) })
	results := make([]error, len(edits))
	slots := make(chan struct{}, runtime.NumCPU())
	var tries sync.WaitGroup
	for i, e := range edits {
		slots <- struct{}{}
		tries.Go(func() {
			defer func() { <-slots }()
			results[i] = try(ctx, filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(e.file))), e)
		})
	}
	tries.Wait()
	survived := slices.DeleteFunc(results, func(err error) bool { return err == nil })
	fmt.Fprintf(os.Stdout, "%d edits, %d not detected\n", len(edits), len(survived))
	return errors.Join(survived...)
}

// try writes the edited file to path and runs the tests with it.
func try(ctx context.Context, path string, e edit) error {
	content, err := os.ReadFile(e.file)
	if err != nil {
		return err
	}
	edited, err := e.apply(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	place, err := filepath.Abs(e.file)
	if err != nil {
		return err
	}
	overlay := path + ".overlay"
	if err := errors.Join(
		os.WriteFile(path, []byte(edited), 0o600), //nolint:gosec // path in a temporary directory
		os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace":{%q:%q}}`, place, path), 0o600),
	); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// One database is enough, because the edits are in code that both databases share.
	command := exec.CommandContext(limited, "go", "test", "-vet=off", "-failfast", "-overlay", overlay, "./server/internal/rest", "-run", "/SQLite") //nolint:gosec // path in a temporary directory
	out, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return fmt.Errorf("%s: not detected by a test", e.name)
	case !strings.Contains(string(out), "--- FAIL") && !strings.Contains(string(out), "panic:"):
		return fmt.Errorf("%s: the tests did not run: %w\n%s", e.name, err, out)
	}
	fmt.Fprintf(os.Stdout, "detected: %s\n", e.name)
	return nil
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
