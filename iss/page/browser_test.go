package page

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
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
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "write screenshots of the page into this directory")

// browser is one Chromium for a test, and what it complained about.
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
	b.Context, cancel = context.WithTimeout(ctx, 3*time.Minute)
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

func (b *browser) open(t *testing.T, address string, width int64) {
	t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if width < 600 {
		options = append(options, chromedp.EmulateMobile)
	}
	b.run(t, chromedp.EmulateViewport(width, 900, options...), chromedp.Navigate(address))
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

// is says whether a script expression comes to hold within twenty seconds.
func (b *browser) is(t *testing.T, expression string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		// While the page changes there may be nothing to ask.
		if v, err := chromedp.Run(b, chromedp.Evaluate[bool]("!!("+expression+")")); err == nil && v {
			return
		}
		if time.Now().After(deadline) {
			at, _ := chromedp.Run(b, chromedp.Evaluate[string](`location.href + " " + document.activeElement.outerHTML.slice(0, 300) + " " + document.getElementById("found").textContent`))
			t.Errorf("not so: %s\nat %s", expression, at)
			return
		}
	}
}

// quiet fails if the browser complained, or asked anybody but us.
func (b *browser) quiet(t *testing.T, home string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.requests {
		if !strings.HasPrefix(u, home) && !strings.HasPrefix(u, "data:") {
			t.Errorf("the page asks for %s", u)
		}
	}
	if len(b.requests) == 0 {
		t.Error("no request was seen: the test looks the wrong way")
	}
	if len(b.faults) > 0 {
		t.Errorf("the browser says %s", strings.Join(slices.Compact(b.faults), "; "))
	}
}

// serve a site whose clock begins when the built-in elements were fresh, and goes.
func serve(t *testing.T) (home string, s *Site) {
	s = newSite(t, nil)
	server := httptest.NewUnstartedServer(s)
	server.Config.RegisterOnShutdown(s.Close)
	server.Start()
	t.Cleanup(func() { s.Close(); server.Close() })
	return server.URL, s
}

func TestPageInBrowser(t *testing.T) {
	b := startBrowser(t)
	home, _ := serve(t)
	key := func(k string) { t.Helper(); b.run(t, chromedp.KeyEvent(k)) }
	// shortcut is a key that the page takes for itself: chromedp would send the character, too, though the page
	// has prevented it.
	shortcut := func(k string) {
		t.Helper()
		if !eval[bool](t, b, `!document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "`+k+`", bubbles: true, cancelable: true }))`) {
			t.Errorf("the page leaves %s to the browser", k)
		}
	}

	b.open(t, home+"/", 1280)
	// The map is there: land is filled by the picture that stands in a file of its own, and the dot is where the number says.
	b.is(t, `document.querySelector(".land").getBBox().width > 3400 && document.querySelector(".borders").getBBox().width > 2000`)
	b.is(t, `document.getElementById("link").classList.contains("live")`)
	b.is(t, `(() => {
		const [x, y] = document.querySelector("path.spot").getAttribute("d").match(/-?[\d.]+/g).map(Number);
		const of = id => { const [v, h] = document.getElementById(id).textContent.split("° "); return h === "S" || h === "W" ? -v : +v };
		return Math.abs(x - 10 * of("lon")) < .2 && Math.abs(y + 10 * of("lat")) < .2;
	})()`)
	// It moves between the events, and the events bring what they should.
	was := eval[string](t, b, `document.getElementById("lon").textContent`)
	b.is(t, `document.getElementById("lon").textContent !== "`+was+`"`)
	b.is(t, `/ km\/s/.test(document.getElementById("speed").textContent) && / [NS] .* [EW] .*m /.test(document.getElementById("loc").textContent)`)

	// Search by keyboard alone.
	shortcut("/")
	b.is(t, `document.activeElement.id === "find"`)
	key("noaa")
	b.is(t, `document.querySelectorAll("#found [role=option]").length > 1 && [...document.querySelectorAll("#found li")].every(e => /NOAA/.test(e.textContent)) && document.getElementById("find").getAttribute("aria-expanded") === "true"`)
	const active = `document.getElementById(document.getElementById("find").getAttribute("aria-activedescendant"))`
	b.is(t, active+`.getAttribute("aria-selected") === "true" && `+active+`.id === "o0"`)
	b.run(t, chromedp.KeyEvent(kb.ArrowDown)) // down
	b.is(t, active+`.id === "o1"`)
	b.run(t, chromedp.KeyEvent(kb.ArrowUp)) // up, and up again to the last
	b.run(t, chromedp.KeyEvent(kb.ArrowUp))
	b.is(t, active+`.id === "o" + (document.querySelectorAll("#found [role=option]").length - 1)`)
	key("\x1b")
	b.is(t, `document.getElementById("found").hidden && document.getElementById("find").getAttribute("aria-expanded") === "false"`)
	key("\x1b")
	b.is(t, `document.activeElement === document.body && document.getElementById("find").value === ""`)
	shortcut("/")
	b.is(t, `document.activeElement.id === "find"`)
	key("hubble")
	b.is(t, active+` && /HST/.test(`+active+`.textContent)`)
	key("\r")
	b.is(t, `location.search === "?object=hubble" && /^HST/.test(document.querySelector("h1").textContent)`)
	b.is(t, `document.getElementById("link").classList.contains("live")`)

	// The map by keyboard: a place, and the passes over it.
	shortcut("m")
	b.is(t, `document.activeElement.id === "map"`)
	b.run(t, chromedp.KeyEvent(kb.ArrowLeft)) // left: a place at all
	b.is(t, `document.getElementById("place-lat").value !== ""`)
	lon := eval[float64](t, b, `+document.getElementById("place-lon").value`)
	b.run(t, chromedp.KeyEvent(kb.ArrowRight)) // right
	b.is(t, fmt.Sprintf(`Math.abs(+document.getElementById("place-lon").value - %g - 1) < .001 || +document.getElementById("place-lon").value < -170`, lon))
	b.is(t, `document.querySelector("[data-you]").getAttribute("d") !== ""`)
	b.is(t, `/^It does not|^$/.test(document.getElementById("passes-note").textContent)`)
	// The page asks when the keys have rested; a place that it has asked about is kept.
	b.is(t, `localStorage.getItem("headway.place") === document.getElementById("place-lat").value + "," + document.getElementById("place-lon").value`)
	shortcut("/")
	b.is(t, `document.activeElement.id === "find"`)
	key("25544\r") // faster than the list: the server finds it
	b.is(t, `location.search === "?object=25544" && document.querySelectorAll("#passes-rows tr").length > 3`)
	b.is(t, `/It rises in|It is up now/.test(document.getElementById("countdown").textContent)`)

	// The map by mouse.
	eval[bool](t, b, `(() => { const r = document.getElementById("map").getBoundingClientRect();
		document.getElementById("map").dispatchEvent(new MouseEvent("click", { clientX: r.left + r.width * .75, clientY: r.top + r.height / 4 })); return true })()`)
	b.is(t, `Math.abs(document.getElementById("place-lat").value - 45) < .5 && Math.abs(document.getElementById("place-lon").value - 90) < .5`)

	// The place is remembered, in another window of another width; the theme too.
	shortcut("t")
	theme := eval[string](t, b, `document.documentElement.dataset.theme`)
	b.is(t, `localStorage.getItem("headway.place") === document.getElementById("place-lat").value + "," + document.getElementById("place-lon").value`)
	for _, width := range []int64{360, 420, 768, 1280} {
		for _, path := range []string{"/", "/?object=goes-15", "/?object=no+such+thing", "/?object=noaa"} {
			if *shots == "" && (width == 768 || width == 420 || path == "/?object=noaa") {
				continue
			}
			b.open(t, home+path, width)
			b.is(t, `document.documentElement.dataset.theme === "`+theme+`" && Math.abs(document.getElementById("place-lon").value - 90) < .5`)
			b.is(t, `document.documentElement.scrollWidth <= innerWidth && innerWidth === `+fmt.Sprint(width))
			if path == "/" {
				b.is(t, `document.querySelectorAll("#passes-rows tr").length > 3 && document.getElementById("link").classList.contains("live")`)
			}
			if width == 360 || width == 1280 {
				b.contrast(t, path)
			}
			b.shoot(t, fmt.Sprintf("page%s-%d", strings.NewReplacer("/", "", "?object=", "-", "+", "-").Replace(path), width))
		}
	}
	if *shots != "" { // those of docs
		b.open(t, home+"/?lat=-22.91&lon=-43.17", 1280)
		b.is(t, `document.querySelectorAll("#passes-rows tr").length > 3 && document.getElementById("link").classList.contains("live")`)
		b.shoot(t, "docs-1280")
		b.open(t, home+"/?lat=-22.91&lon=-43.17", 420)
		b.is(t, `document.querySelectorAll("#passes-rows tr").length > 3 && document.getElementById("link").classList.contains("live")`)
		b.shoot(t, "docs-420")
	}
	b.mu.Lock()
	b.faults = slices.DeleteFunc(b.faults, func(s string) bool { return strings.Contains(s, "404") }) // no such thing, as asked for
	b.mu.Unlock()
	b.quiet(t, home+"/")
}

// Without scripts the position, the map, the search and the passes are there.
func TestPageWithoutScript(t *testing.T) {
	b := startBrowser(t)
	home, _ := serve(t)
	b.run(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.open(t, home+"/?object=iss&lat=48.2&lon=16.4", 1280)
	b.is(t, `/^The space station is above /.test(document.querySelector("h1").textContent)`)
	b.is(t, `document.querySelector(".land").getBBox().width > 3400 && document.querySelector("path.spot").getAttribute("d") && document.querySelector("#next").getBBox().width > 2000`)
	b.is(t, `/° [NS]/.test(document.getElementById("lat").textContent) && document.querySelector("noscript").offsetParent`)
	b.is(t, `!document.getElementById("theme").offsetParent && !document.getElementById("copy").offsetParent && !document.getElementById("pick").offsetParent`)
	b.is(t, `document.getElementById("link").offsetParent && document.querySelectorAll("#passes-rows tr").length > 3`)
	b.shoot(t, "noscript-1280")
	b.quiet(t, home+"/")
}

// Who wants no motion gets none between the events.
func TestReducedMotion(t *testing.T) {
	b := startBrowser(t)
	home, s := serve(t)
	s.hub.every = time.Hour
	b.run(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	}))
	b.open(t, home+"/", 800)
	b.is(t, `document.getElementById("link").classList.contains("live")`)
	b.is(t, `document.getAnimations().length === 0`)
}

// contrast asks of every text in both themes what WCAG 2.2 (1.4.3, level AA) asks: 4.5 to 1.
func (b *browser) contrast(t *testing.T, name string) {
	was := eval[string](t, b, `document.documentElement.dataset.theme || ""`)
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
				const a = light(rgba(getComputedStyle(e).color)), b = light(behind(e));
				const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
				if (ratio < 4.5) bad.add(e.tagName + "." + e.className + "#" + e.id + " " + ratio.toFixed(2));
			}
			return [...bad];
		})()`)
		if len(bad) > 0 {
			t.Errorf("%s, %s: too little contrast: %s", name, theme, strings.Join(bad, ", "))
		}
	}
	eval[string](t, b, `document.documentElement.dataset.theme = "`+was+`"`)
}

// shoot is for the eyes of whoever changes the page: go test -run Browser -shots DIR.
func (b *browser) shoot(t *testing.T, name string) {
	if *shots == "" {
		return
	}
	was := eval[string](t, b, `document.documentElement.dataset.theme || ""`)
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
	eval[string](t, b, `document.documentElement.dataset.theme = "`+was+`"`)
}
