// Package browsertest tests web pages in Chromium, which is Debian's package chromium. Tests are skipped if it is
// not installed, except in CI.
package browsertest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// ColorScheme is the preference for a color scheme, "light" or "dark"; see [Tab.Prefer].
const ColorScheme = "prefers-color-scheme"

// testTimeout bounds the start of a browser and a test. It is long, because the machine may be busy.
const testTimeout = 10 * time.Minute

// axeGzip is the script of axe-core, which "make axe" downloads.
//
//go:embed axe/axe.min.js.gz
var axeGzip []byte

//nolint:gochecknoglobals // it is decompressed once
var axe = sync.OnceValue(func() string {
	unpacked, err := gzip.NewReader(bytes.NewReader(axeGzip))
	if err != nil {
		panic(err)
	}
	script, err := io.ReadAll(unpacked)
	if err != nil {
		panic(err)
	}
	return string(script)
})

//nolint:gochecknoglobals // a flag
var readme = flag.String("readme", "", "write the pictures of [Tab.Picture] to this directory")

// Tab is a tab of a browser. Its methods fail the test on errors.
type Tab struct {
	// Accepted are the rules of axe-core that the page may break, because its markup comes from elsewhere.
	Accepted []string

	t      *testing.T
	ctx    context.Context //nolint:containedctx // chromedp keeps the tab in it
	origin string

	mu       sync.Mutex
	faults   []string
	received float64 // bytes
}

// shared is the browser of all tabs.
//
//nolint:gochecknoglobals // a start takes as much CPU time as six pages
var shared struct {
	once  sync.Once
	ctx   context.Context //nolint:containedctx // chromedp keeps the browser in it
	close context.CancelFunc
	err   error
}

// Main is the tests of a package, which share one browser. TestMain must run them with it.
type Main struct{ *testing.M }

// Run runs the tests, and then closes the browser.
func (m Main) Run() int {
	defer func() {
		if shared.close != nil {
			shared.close()
		}
	}()
	return m.M.Run()
}

// start starts a browser.
func start() (context.Context, context.CancelFunc, error) {
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.WSURLReadTimeout(testTimeout), chromedp.NoSandbox, // CI runs as root
		chromedp.Flag("disable-dev-shm-usage", false))...) // Debian's start script sets it if /dev/shm is small
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, cancel, chromedp.Do(ctx)
}

// Open opens a tab with its own cookies, storage and cache. The test fails if a page logs an error or a warning, throws
// an exception, or sends a request to another origin, unless the test calls [Tab.Faults].
func Open(t *testing.T, origin string) *Tab {
	t.Helper()
	harness.Need(t, "chromium")
	shared.once.Do(func() { shared.ctx, shared.close, shared.err = start() }) //nolint:fatcontext // once
	harness.Check(t, shared.err)
	ctx, cancel := context.WithTimeout(shared.ctx, testTimeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	tab := &Tab{t: t, ctx: ctx, origin: origin}
	t.Cleanup(func() {
		cancel() // no event is handled after it
		for _, fault := range tab.Faults() {
			t.Error(fault)
		}
	})
	harness.Check(t, chromedp.Listen(ctx, tab.handleEvent))
	// Only one tab of a browser has the focus otherwise.
	call(tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return tab
}

func (tab *Tab) handleEvent(event any) {
	var fault string
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		if url := event.Request.URL; !strings.HasPrefix(url, tab.origin+"/") && !strings.HasPrefix(url, "data:") {
			fault = "request to " + url
		}
	case *network.EventLoadingFinished:
		tab.received += event.EncodedDataLength
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

// Faults returns the errors and cross-origin requests since the last call, and clears them.
func (tab *Tab) Faults() (faults []string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	faults, tab.faults = tab.faults, nil
	return faults
}

// Received returns the number of bytes that were received, as encoded for transport.
func (tab *Tab) Received() int {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return int(tab.received)
}

// Do runs actions, such as clicks and key presses.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	harness.Check(tab.t, chromedp.Do(tab.ctx, steps...))
}

// Read runs an action and returns its result.
func Read[T any](tab *Tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, action)
	harness.Check(tab.t, err)
	return value
}

// call calls a command of the DevTools protocol.
func call[P, R any](tab *Tab, command cdp.Command[P, R], params P) R {
	tab.t.Helper()
	result, err := chromedp.Call(tab.ctx, command, params)
	harness.Check(tab.t, err)
	return result
}

// SetCookie sets a cookie for a path of the origin and the paths below it.
func (tab *Tab) SetCookie(path string, cookie *http.Cookie) {
	tab.t.Helper()
	params := network.SetCookieParams{Name: cookie.Name, Value: cookie.Value, URL: tab.origin, Path: path}
	call(tab, network.SetCookie, params)
}

// Visit navigates to a path and waits until an element that matches the selector is visible.
func (tab *Tab) Visit(path, selector string) {
	tab.t.Helper()
	tab.Do(chromedp.Navigate(tab.origin+path), chromedp.WaitVisible(selector))
}

// Await waits until the page and its scripts are loaded, and an element that matches the selector contains text.
func (tab *Tab) Await(selector, text string) {
	tab.t.Helper()
	expression := fmt.Sprintf(
		`document.readyState === "complete" && [...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text)
	for tab.ctx.Err() == nil {
		if found, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](expression)); err == nil && found { // fails during a navigation
			return
		}
		_ = chromedp.Do(tab.ctx, chromedp.Sleep(50*time.Millisecond))
	}
	tab.t.Fatalf("no element %s contains %q", selector, text)
}

// AwaitFocus waits until the element with an id has the focus. An element with autofocus may be visible before it
// has the focus.
func (tab *Tab) AwaitFocus(id string) {
	tab.t.Helper()
	Read(tab, chromedp.Evaluate[bool](fmt.Sprintf(`new Promise(resolve => {
		const check = () => document.activeElement?.id === %q ? resolve(true) : requestAnimationFrame(check)
		check()
	})`, id), chromedp.EvalAwaitPromise))
}

// DisableScripts disables the scripts of the pages that are loaded afterwards.
func (tab *Tab) DisableScripts() {
	tab.t.Helper()
	call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Prefer sets a preference, such as [ColorScheme] or "prefers-reduced-motion", and clears all others.
func (tab *Tab) Prefer(feature, value string) {
	tab.t.Helper()
	preference := []*emulation.MediaFeature{{Name: feature, Value: value}}
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: preference})
}

// Clipboard returns the text in the clipboard, which all tabs share.
func (tab *Tab) Clipboard() string {
	tab.t.Helper()
	permission := browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted, Origin: tab.origin,
		BrowserContextID: chromedp.FromContext(tab.ctx).BrowserContextID,
	}
	call(tab, browser.SetPermission, permission)
	return Read(tab, chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise))
}

// Inspect checks the current page in the windows of a desktop computer, a tablet and a phone. The page must not be
// wider than the window, its buttons must not touch each other, and axe-core must find no accessibility problem, in
// both color schemes. The window is that of a phone afterwards, so that the test goes on there.
func (tab *Tab) Inspect(name string) {
	tab.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		tab.Prefer(ColorScheme, scheme)
		for _, width := range []int64{1440, 768, 360} {
			if scheme == "dark" && width != 360 { // only the colors differ
				continue
			}
			tab.Do(chromedp.EmulateViewport(width, 900))
			needed := Read(tab, chromedp.Evaluate[int64](layoutWidth, chromedp.EvalAwaitPromise))
			if needed > width {
				tab.t.Errorf("%s needs %d pixels in a window of %d (%s)", name, needed, width, scheme)
			}
			if touching := Read(tab, chromedp.Evaluate[string](touchingButtons)); touching != "" && tab.Accepted == nil {
				tab.t.Errorf("%s in a window of %d: buttons touch each other: %s", name, width, touching)
			}
		}
		tab.audit(name, scheme)
	}
}

// layoutWidth is a script that returns the width of the page after it was drawn with the current settings.
const layoutWidth = `new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => resolve(document.documentElement.scrollWidth))))`

// touchingButtons is a script that returns the texts of buttons that have less than three pixels between them.
const touchingButtons = `(() => {
	const near = 3, shown = [...document.querySelectorAll("button, .button")].filter(e => e.checkVisibility())
	const boxes = shown.map(e => e.getBoundingClientRect())
	return shown.flatMap((a, i) => shown.slice(i + 1).filter((_, j) => {
		const one = boxes[i], other = boxes[i + 1 + j]
		return one.left < other.right + near && other.left < one.right + near && one.top < other.bottom + near && other.top < one.bottom + near
	}).map(b => a.textContent + " | " + b.textContent)).join(", ")
})()`

// Picture writes a screenshot of the page for a README, in WebP and in a window of 1200 × 800 pixels, if the test has
// the flag -readme.
func (tab *Tab) Picture(name string) {
	tab.t.Helper()
	if *readme == "" {
		return
	}
	tab.Prefer(ColorScheme, "light")
	tab.Do(chromedp.EmulateViewport(1200, 800))
	Read(tab, chromedp.Evaluate[int64](layoutWidth, chromedp.EvalAwaitPromise))
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: new(int64(90))}
	picture := call(tab, page.CaptureScreenshot, params).Data
	harness.Check(tab.t, os.WriteFile(filepath.Join(*readme, name), picture, 0o644)) //nolint:gosec // it is published
}

// audit fails the test for each problem that axe-core finds, except those in Accepted. The audit in dark follows that
// in light, from which only the contrast can differ.
func (tab *Tab) audit(name, scheme string) {
	tab.t.Helper()
	options := `{resultTypes: ["violations"], runOnly: ["color-contrast"]}`
	if scheme == "light" {
		options = `{resultTypes: ["violations"]}`
		tab.Do(chromedp.Evaluate[chromedp.Void](axe() + "\n;undefined"))
	}
	type violation struct{ ID, Impact, Where string }
	found := Read(tab, chromedp.Evaluate[[]violation](`axe.run(`+options+`).then(result => result.violations.flatMap(v => v.nodes.map(
		n => ({ID: v.id, Impact: v.impact, Where: n.html + " " + n.failureSummary}))))`, chromedp.EvalAwaitPromise))
	for _, v := range found {
		if !slices.Contains(tab.Accepted, v.ID) {
			tab.t.Errorf("%s, %s: %s (%s): %s", name, scheme, v.ID, v.Impact, v.Where)
		}
	}
}
