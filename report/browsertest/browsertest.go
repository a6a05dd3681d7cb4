// Package browsertest tries pages in Debian's Chromium, for the tests of every package that writes some.
//
//	b := browsertest.Start(t)
//	b.Open(server.URL, 360)
//	b.Fits(360)
//	b.Is(`document.activeElement.id === "find"`)
//	b.Contrast("phone")
//	b.Shoot("phone-360")
//	b.Quiet(server.URL)
//
// A test whose machine has no Chromium is skipped, with the reason. The pages of this project choose their theme by
// the attribute data-theme of the document's element; Contrast and Shoot look at both, light and dark.
package browsertest

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is one Chromium for a test, and what it asked for and complained about. Its context is for chromedp.Run.
type Browser struct {
	context.Context
	t        testing.TB
	patience time.Duration // with what a page shall come to
	mu       sync.Mutex
	requests []string
	faults   []string
}

// limit for all that a test does with its browser.
const limit = 5 * time.Minute

// Start starts a browser that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH: the page is not tried in a browser")
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless}
	for _, f := range []string{"no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"} {
		options = append(options, chromedp.Flag(f, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Browser{Context: ctx, t: t, patience: 20 * time.Second}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	b.Context, cancel = context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	b.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		collect(b, target, network.RequestWillBeSent, &b.requests, func(e network.EventRequestWillBeSent) string { return e.Request.URL })
		collect(b, target, runtime.ExceptionThrown, &b.faults, func(e runtime.EventExceptionThrown) string { return e.ExceptionDetails.Text })
		collect(b, target, runtime.ConsoleAPICalled, &b.faults, func(e runtime.EventConsoleAPICalled) string { return "console." + string(e.Type) })
		collect(b, target, log.EntryAdded, &b.faults, func(e log.EventEntryAdded) string { return e.Entry.Text })
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
			if err == nil {
				_, err = cdp.Call(ctx, target, enable, cdp.Empty{})
			}
		}
		return err
	}))
	return b
}

// collect notes down every event of a kind until the browser ends.
func collect[E any](b *Browser, target *chromedp.Target, kind cdp.Event[E], into *[]string, say func(E) string) {
	events := cdp.Events(b, target, kind)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			b.mu.Lock()
			*into = append(*into, say(e))
			b.mu.Unlock()
		}
	}()
}

// Open loads an address at a width in CSS pixels; below 600 it is a phone's.
func (b *Browser) Open(address string, width int64) {
	b.t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if width < 600 {
		options = append(options, chromedp.EmulateMobile)
	}
	b.Do(chromedp.EmulateViewport(width, 800, options...), chromedp.Navigate(address))
}

// Do takes actions that have no result.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Call sends a command of the DevTools protocol whose answer is empty.
func Call[P any](b *Browser, command cdp.Command[P, cdp.Empty], params P) {
	b.t.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	}))
}

// NoScript keeps the pages that are opened from now on from running scripts.
func (b *Browser) NoScript() {
	b.t.Helper()
	Call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Key types text, or presses a key of package kb.
func (b *Browser) Key(k string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(k))
}

// Click clicks at what a CSS selector finds.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Eval is the value of a script expression.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Is fails the test unless a script expression comes to hold within 20 seconds.
func (b *Browser) Is(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(b.patience); ; time.Sleep(20 * time.Millisecond) {
		// While the page changes there may be nothing to ask.
		v, err := chromedp.Run(b, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && v {
			return
		}
		if time.Now().After(deadline) {
			at, _ := chromedp.Run(b, chromedp.Evaluate[string](`location.href + " " + document.activeElement.outerHTML.slice(0, 300)`))
			b.t.Errorf("not so: %s\nat %s", expression, at)
			if err != nil {
				b.t.Error(err)
			}
			return
		}
	}
}

// Fits fails the test unless the page is as wide as it was opened, with nothing to scroll sideways.
func (b *Browser) Fits(width int64) {
	b.t.Helper()
	b.Is(`document.documentElement.scrollWidth <= innerWidth && innerWidth === ` + strconv.FormatInt(width, 10))
}

// Quiet fails the test if the browser complained, but for complaints that contain one of those expected, or if it asked
// for any address that does not begin with home.
func (b *Browser) Quiet(home string, expected ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.requests {
		if !strings.HasPrefix(u, home) && !strings.HasPrefix(u, "data:") {
			b.t.Errorf("the page asks for %s", u)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen: the test looks the wrong way")
	}
	faults := slices.DeleteFunc(slices.Clone(b.faults), func(s string) bool {
		return slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(s, e) })
	})
	if len(faults) > 0 {
		b.t.Errorf("the browser says %s", strings.Join(slices.Compact(faults), "; "))
	}
}
