package report

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

var shots = flag.String("shots", "", "write screenshots of the sample pages into this directory")

// browser is one Chromium for all tests of the page, and what it complained about.
type browser struct {
	context.Context
	mu       sync.Mutex
	requests []string
	faults   []string
}

func startBrowser(t *testing.T) *browser {
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
	b := &browser{Context: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	b.Context, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	b.run(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
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
func collect[E any](b *browser, target *chromedp.Target, kind cdp.Event[E], into *[]string, say func(E) string) {
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

// open loads the page of r at a width in CSS pixels.
func (b *browser) open(t *testing.T, r *Report, width int64) {
	t.Helper()
	var html bytes.Buffer
	if err := r.HTML(&html); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	options := []chromedp.EmulateViewportOption{}
	if width < 600 {
		options = append(options, chromedp.EmulateMobile)
	}
	b.run(t, chromedp.EmulateViewport(width, 800, options...), chromedp.Navigate("file://"+file))
}

func (b *browser) run(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval is the value of a script expression.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// is says whether a script expression comes to hold within ten seconds.
func (b *browser) is(t *testing.T, expression string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](t, b, "!!("+expression+")") {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("not so: %s", expression)
			return
		}
	}
}

const visibleCards = `[...document.querySelectorAll(".card")].filter(e => e.offsetParent).length`

func TestPageInBrowser(t *testing.T) {
	b := startBrowser(t)
	key := func(k string) { t.Helper(); b.run(t, chromedp.KeyEvent(k)) }

	b.open(t, profile(), 1280)
	b.is(t, visibleCards+` === 8`)
	b.is(t, `document.querySelectorAll("#overview li").length === 8`)
	b.is(t, `document.querySelector("main h1") === document.querySelector("h1, h2, p")`) // the answer comes first

	// The filter, by name and by file, and away again.
	key("/")
	b.is(t, `document.activeElement.id === "filter"`)
	key("dns msg.go")
	b.is(t, visibleCards+` === 1 && document.getElementById("count").textContent === "1 of 8"`)
	key("?!")
	b.is(t, visibleCards+` === 0 && document.getElementById("nomatch").offsetParent && !document.getElementById("keys").open`)
	key("\x1b")
	b.is(t, visibleCards+` === 8 && document.activeElement === document.body`)

	// The keyboard.
	key("j")
	b.is(t, `document.activeElement.id === "s1"`)
	key("j")
	b.is(t, `document.activeElement.id === "s2" && Math.abs(document.activeElement.getBoundingClientRect().top - 68) < 4`)
	key("k")
	b.is(t, `document.activeElement.id === "s1"`)
	key("?")
	b.is(t, `document.getElementById("keys").open`)
	b.run(t, chromedp.Click(chromedp.CSS("#keys button")))
	b.is(t, `!document.getElementById("keys").open`)

	// The theme.
	const paper = `getComputedStyle(document.body).backgroundColor`
	before := eval[string](t, b, paper)
	b.run(t, chromedp.Click(chromedp.CSS("#theme")))
	after := eval[string](t, b, paper)
	if before == after {
		t.Errorf("the theme stays %s", before)
	}
	b.run(t, chromedp.Reload())
	b.is(t, paper+` === "`+after+`"`) // it is remembered
	key("t")
	b.is(t, paper+` === "`+before+`"`)

	// The overview leads to the cards, the points tell their numbers.
	b.run(t, chromedp.Click(chromedp.CSS(`#overview li:nth-child(2) a`)))
	b.is(t, `location.hash === "#s2" && scrollY > 0`)
	// The pointer enters again at every try: the scroll of the jump above may end late, and scrolling hides the tip.
	b.is(t, `document.querySelector("#s2 .spot:last-child").dispatchEvent(new PointerEvent("pointerenter")) &&
		/100 % faster:.*interval.*n=18/.test(document.getElementById("tip").textContent) && document.getElementById("tip").offsetHeight > 0`)

	for name, r := range samples() {
		for _, width := range []int64{360, 768, 1280} {
			if width == 768 && *shots == "" {
				continue
			}
			b.open(t, r, width)
			b.is(t, `document.documentElement.scrollWidth <= innerWidth && innerWidth === `+fmt.Sprint(width))
			if width == 360 || width == 1280 {
				b.contrast(t, name)
			}
			b.shoot(t, fmt.Sprintf("%s-%d", name, width))
		}
	}
	b.print(t, profile())

	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file://") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.requests) == 0 {
		t.Error("no request was seen: the test looks the wrong way")
	}
	if len(b.faults) > 0 {
		t.Errorf("the browser says %s", strings.Join(slices.Compact(b.faults), "; "))
	}
}

// contrast asks of every text in both themes what WCAG 2.2 (1.4.3, level AA) asks: 4.5 to 1.
func (b *browser) contrast(t *testing.T, name string) {
	for _, theme := range []string{"light", "dark"} {
		bad := eval[[]string](t, b, `(() => {
			document.documentElement.dataset.theme = "`+theme+`";
			const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
			const rgba = s => s.match(/[\d.]+/g).map(Number);
			const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
			const behind = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c } return [255, 255, 255] };
			const bad = new Set();
			for (const e of document.body.querySelectorAll("*")) {
				if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
				const style = getComputedStyle(e), a = light(rgba(e.namespaceURI.endsWith("svg") ? style.fill : style.color)), b = light(behind(e));
				const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
				if (ratio < 4.5) bad.add(e.tagName + "." + e.getAttribute("class") + " " + ratio.toFixed(2));
			}
			return [...bad];
		})()`)
		if len(bad) > 0 {
			t.Errorf("%s, %s: too little contrast: %s", name, theme, strings.Join(bad, ", "))
		}
	}
}

// Without scripts everything is there but the filter, the theme and the help.
func TestPageWithoutScript(t *testing.T) {
	b := startBrowser(t)
	b.run(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.open(t, profile(), 1280)
	b.is(t, visibleCards+` === 8`)
	b.is(t, `!document.getElementById("filter").offsetParent && !document.getElementById("theme").offsetParent`)
	b.is(t, `document.querySelector(".spot title")`)
}

// shoot is for the eyes of whoever changes the page: go test -run Browser -shots DIR.
func (b *browser) shoot(t *testing.T, name string) {
	if *shots == "" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		eval[string](t, b, `document.documentElement.dataset.theme = "`+theme+`"`)
		png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*shots, name+"-"+theme+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *browser) print(t *testing.T, r *Report) {
	b.open(t, r, 1280)
	pdf, err := chromedp.Run(b, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Error("it does not print")
	}
	if *shots != "" {
		if err := os.WriteFile(filepath.Join(*shots, "profile.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
