// Package browsertest lets tests look at pages in Debian's Chromium, as people see them.
package browsertest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test may take, on a machine that does much else.
const patience = 5 * time.Minute

// axe is axe-core, which "make axe" takes from npm.
//
//go:embed axe/axe.min.js.gz
var axe []byte

//nolint:gochecknoglobals // a flag
var pictures = flag.String("pictures", "", "write pictures of what [Tab.Inspect] sees to this directory")

// Tab is a tab of a browser.
type Tab struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // chromedp keeps the tab in it
	origin string

	mu     sync.Mutex
	faults []string
	bytes  float64
}

// Open opens a tab of a browser of its own. The test fails when what the tab loads logs an error, or
// requests anything of another origin.
func Open(t *testing.T, origin string) *Tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("%v; it is a package of Debian's", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, // CI runs as root
		chromedp.WSURLReadTimeout(patience), chromedp.UserDataDir(filepath.Join(t.TempDir(), "chromium")))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	tab := &Tab{t: t, ctx: ctx, origin: origin}
	if err := chromedp.Listen(ctx, tab.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel() // the listener is done
		for _, fault := range tab.Faults() {
			t.Error(fault)
		}
	})
	return tab
}

func (tab *Tab) hear(event any) {
	var fault string
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		if url := event.Request.URL; !strings.HasPrefix(url, tab.origin+"/") && !strings.HasPrefix(url, "data:") {
			fault = "request to " + url
		}
	case *network.EventLoadingFinished:
		tab.bytes += event.EncodedDataLength
	case *runtime.EventExceptionThrown:
		fault = "exception: " + event.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.ConsoleAPICalledTypeError || event.Type == runtime.ConsoleAPICalledTypeWarning {
			fault = fmt.Sprintf("console: %s", event.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if event.Entry.Level == log.EntryLevelError {
			fault = event.Entry.Text + " " + event.Entry.URL
		}
	}
	if fault != "" {
		tab.faults = append(tab.faults, fault)
	}
}

// Faults returns what was wrong since the last call.
func (tab *Tab) Faults() (faults []string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	faults, tab.faults = tab.faults, nil
	return faults
}

// Received returns how many bytes have come over the wire.
func (tab *Tab) Received() int {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return int(tab.bytes)
}

// Do does what a person would.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	if err := chromedp.Do(tab.ctx, steps...); err != nil {
		tab.t.Fatal(err)
	}
}

// Read returns what an action finds.
func Read[T any](tab *Tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, action)
	if err != nil {
		tab.t.Fatal(err)
	}
	return value
}

// Visit shows the page at a path, and waits for an element that a selector finds.
func (tab *Tab) Visit(path, selector string) {
	tab.t.Helper()
	tab.Do(chromedp.Navigate(tab.origin+path), chromedp.WaitVisible(selector))
}

// Await waits until a page has loaded with its scripts, and an element that a selector finds has a
// text in it.
func (tab *Tab) Await(selector, text string) {
	tab.t.Helper()
	expression := fmt.Sprintf(
		`document.readyState === "complete" && [...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text)
	for tab.ctx.Err() == nil {
		if found, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](expression)); err == nil && found { // fails on the way to another page
			return
		}
		_ = chromedp.Do(tab.ctx, chromedp.Sleep(50*time.Millisecond))
	}
	tab.t.Fatalf("no %s has the text %q", selector, text)
}

// AwaitFocus waits until what is typed goes to the element with an id: autofocus comes after the
// element is visible.
func (tab *Tab) AwaitFocus(id string) {
	tab.t.Helper()
	Read(tab, chromedp.Evaluate[bool](fmt.Sprintf(`new Promise(resolve => {
		const look = () => document.activeElement?.id === %q ? resolve(true) : requestAnimationFrame(look)
		look()
	})`, id), chromedp.EvalAwaitPromise))
}

// Prefer makes the browser prefer a color scheme.
func (tab *Tab) Prefer(scheme string) {
	tab.t.Helper()
	preference := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: preference}); err != nil {
		tab.t.Fatal(err)
	}
}

// Clipboard returns the text that the page copied.
func (tab *Tab) Clipboard() string {
	tab.t.Helper()
	mayRead := browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted, Origin: tab.origin,
	}
	if _, err := chromedp.Call(tab.ctx, browser.SetPermission, mayRead); err != nil {
		tab.t.Fatal(err)
	}
	return Read(tab, chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise))
}

// Widths are those of a phone, a tablet and a desk.
func Widths() []int64 { return []int64{360, 768, 1440} }

// Inspect looks at a page in light and dark, in every width: nothing is wider than the window, and
// axe-core finds nothing that keeps people from using it.
func (tab *Tab) Inspect(name string) {
	tab.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		tab.Prefer(scheme)
		for _, width := range Widths() {
			tab.Do(chromedp.EmulateViewport(width, 900))
			needed := Read(tab, chromedp.Evaluate[int64](laidOut, chromedp.EvalAwaitPromise))
			if needed > width {
				tab.t.Errorf("%s is %d pixels wide in %d, %s", name, needed, width, scheme)
			}
			tab.draw(fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
		}
		tab.audit(name + ", " + scheme)
	}
}

// laidOut is the width that a page needs, once it is drawn in the window as it is now.
const laidOut = `new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => resolve(document.documentElement.scrollWidth))))`

func (tab *Tab) draw(name string) {
	tab.t.Helper()
	if *pictures == "" {
		return
	}
	picture := Read(tab, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(*pictures, name), picture, 0o600); err != nil {
		tab.t.Fatal(err)
	}
}

// audit fails the test with what axe-core takes for serious or critical.
func (tab *Tab) audit(name string) {
	tab.t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(axe))
	if err != nil {
		tab.t.Fatal(err)
	}
	script, err := io.ReadAll(unpacked)
	if err != nil {
		tab.t.Fatal(err)
	}
	tab.Do(chromedp.Evaluate[chromedp.Void](string(script) + "\n;undefined"))
	type violation struct{ ID, Impact, Where string }
	found := Read(tab, chromedp.Evaluate[[]violation](`axe.run().then(result => result.violations.flatMap(v => v.nodes.map(
		n => ({ID: v.id, Impact: v.impact, Where: n.html + " " + n.failureSummary}))))`, chromedp.EvalAwaitPromise))
	for _, v := range found {
		if v.Impact == "serious" || v.Impact == "critical" {
			tab.t.Errorf("%s: %s (%s): %s", name, v.ID, v.Impact, v.Where)
		} else {
			tab.t.Logf("%s: %s (%s): %s", name, v.ID, v.Impact, v.Where)
		}
	}
}
