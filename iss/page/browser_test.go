package page

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"

	"github.com/headway-lab/headway/report/browsertest"
)

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
	b := browsertest.Start(t)
	home, _ := serve(t)
	// shortcut is a key that the page takes for itself: chromedp would send the character, too, though the page
	// has prevented it.
	shortcut := func(k string) {
		t.Helper()
		if !browsertest.Eval[bool](b, `!document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "`+k+`", bubbles: true, cancelable: true }))`) {
			t.Errorf("the page leaves %s to the browser", k)
		}
	}

	b.Open(home+"/", 1280)
	// The map is there: land is filled by the picture that stands in a file of its own, and the dot is where the number says.
	b.Is(`document.querySelector(".land").getBBox().width > 3400 && document.querySelector(".borders").getBBox().width > 2000`)
	b.Is(`document.getElementById("link").classList.contains("live")`)
	b.Is(`(() => {
		const [x, y] = document.querySelector("path.spot").getAttribute("d").match(/-?[\d.]+/g).map(Number);
		const of = id => { const [v, h] = document.getElementById(id).textContent.split("° "); return h === "S" || h === "W" ? -v : +v };
		return Math.abs(x - 10 * of("lon")) < .2 && Math.abs(y + 10 * of("lat")) < .2;
	})()`)
	// It moves between the events, and the events bring what they should.
	was := browsertest.Eval[string](b, `document.getElementById("lon").textContent`)
	b.Is(`document.getElementById("lon").textContent !== "` + was + `"`)
	b.Is(`/ km\/s/.test(document.getElementById("speed").textContent) && / [NS] .* [EW] .*m /.test(document.getElementById("loc").textContent)`)

	// Search by keyboard alone.
	shortcut("/")
	b.Is(`document.activeElement.id === "find"`)
	b.Key("noaa")
	b.Is(`document.querySelectorAll("#found [role=option]").length > 1 && [...document.querySelectorAll("#found li")].every(e => /NOAA/.test(e.textContent)) && document.getElementById("find").getAttribute("aria-expanded") === "true"`)
	const active = `document.getElementById(document.getElementById("find").getAttribute("aria-activedescendant"))`
	b.Is(active + `.getAttribute("aria-selected") === "true" && ` + active + `.id === "o0"`)
	b.Key(kb.ArrowDown) // down
	b.Is(active + `.id === "o1"`)
	b.Key(kb.ArrowUp) // up, and up again to the last
	b.Key(kb.ArrowUp)
	b.Is(active + `.id === "o" + (document.querySelectorAll("#found [role=option]").length - 1)`)
	b.Key("\x1b")
	b.Is(`document.getElementById("found").hidden && document.getElementById("find").getAttribute("aria-expanded") === "false"`)
	b.Key("\x1b")
	b.Is(`document.activeElement === document.body && document.getElementById("find").value === ""`)
	shortcut("/")
	b.Is(`document.activeElement.id === "find"`)
	b.Key("hubble")
	b.Is(active + ` && /HST/.test(` + active + `.textContent)`)
	b.Key("\r")
	b.Is(`location.search === "?object=hubble" && /^HST/.test(document.querySelector("h1").textContent)`)
	b.Is(`document.getElementById("link").classList.contains("live")`)

	// The map by keyboard: a place, and the passes over it.
	shortcut("m")
	b.Is(`document.activeElement.id === "map"`)
	b.Key(kb.ArrowLeft) // left: a place at all
	b.Is(`document.getElementById("place-lat").value !== ""`)
	lon := browsertest.Eval[float64](b, `+document.getElementById("place-lon").value`)
	b.Key(kb.ArrowRight) // right
	b.Is(fmt.Sprintf(`Math.abs(+document.getElementById("place-lon").value - %g - 1) < .001 || +document.getElementById("place-lon").value < -170`, lon))
	b.Is(`document.querySelector("[data-you]").getAttribute("d") !== ""`)
	b.Is(`/^It does not|^$/.test(document.getElementById("passes-note").textContent)`)
	// The page asks when the keys have rested; a place that it has asked about is kept.
	b.Is(`localStorage.getItem("headway.place") === document.getElementById("place-lat").value + "," + document.getElementById("place-lon").value`)
	shortcut("/")
	b.Is(`document.activeElement.id === "find"`)
	b.Key("25544\r") // faster than the list: the server finds it
	b.Is(`location.search === "?object=25544" && document.querySelectorAll("#passes-rows tr").length > 3`)
	b.Is(`/It rises in|It is up now/.test(document.getElementById("countdown").textContent)`)

	// The map by mouse.
	browsertest.Eval[bool](b, `(() => { const r = document.getElementById("map").getBoundingClientRect();
		document.getElementById("map").dispatchEvent(new MouseEvent("click", { clientX: r.left + r.width * .75, clientY: r.top + r.height / 4 })); return true })()`)
	b.Is(`Math.abs(document.getElementById("place-lat").value - 45) < .5 && Math.abs(document.getElementById("place-lon").value - 90) < .5`)

	// The place is remembered, in another window of another width; the theme too.
	shortcut("t")
	theme := browsertest.Eval[string](b, `document.documentElement.dataset.theme`)
	b.Is(`localStorage.getItem("headway.place") === document.getElementById("place-lat").value + "," + document.getElementById("place-lon").value`)
	for _, width := range []int64{360, 420, 768, 1280} {
		for _, path := range []string{"/", "/?object=goes-15", "/?object=no+such+thing", "/?object=noaa"} {
			if browsertest.Shots() == "" && (width == 768 || width == 420 || path == "/?object=noaa") {
				continue
			}
			b.Open(home+path, width)
			b.Is(`document.documentElement.dataset.theme === "` + theme + `" && Math.abs(document.getElementById("place-lon").value - 90) < .5`)
			b.Fits(width)
			if path == "/" {
				b.Is(`document.querySelectorAll("#passes-rows tr").length > 3 && document.getElementById("link").classList.contains("live")`)
			}
			if width == 360 || width == 1280 {
				b.Contrast(path)
			}
			b.Shoot(fmt.Sprintf("page%s-%d", strings.NewReplacer("/", "", "?object=", "-", "+", "-").Replace(path), width))
		}
	}
	if browsertest.Shots() != "" { // those of docs
		b.Open(home+"/?lat=-22.91&lon=-43.17", 1280)
		b.Is(`document.querySelectorAll("#passes-rows tr").length > 3 && document.getElementById("link").classList.contains("live")`)
		b.Shoot("docs-1280")
		b.Open(home+"/?lat=-22.91&lon=-43.17", 420)
		b.Is(`document.querySelectorAll("#passes-rows tr").length > 3 && document.getElementById("link").classList.contains("live")`)
		b.Shoot("docs-420")
	}
	b.Quiet(home+"/", "404") // no such thing, as asked for
}

// Without scripts the position, the map, the search and the passes are there.
func TestPageWithoutScript(t *testing.T) {
	b := browsertest.Start(t)
	home, _ := serve(t)
	b.NoScript()
	b.Open(home+"/?object=iss&lat=48.2&lon=16.4", 1280)
	b.Is(`/^The space station is above /.test(document.querySelector("h1").textContent)`)
	b.Is(`document.querySelector(".land").getBBox().width > 3400 && document.querySelector("path.spot").getAttribute("d") && document.querySelector("#next").getBBox().width > 2000`)
	b.Is(`/° [NS]/.test(document.getElementById("lat").textContent) && document.querySelector("noscript").offsetParent`)
	b.Is(`!document.getElementById("theme").offsetParent && !document.getElementById("copy").offsetParent && !document.getElementById("pick").offsetParent`)
	b.Is(`document.getElementById("link").offsetParent && document.querySelectorAll("#passes-rows tr").length > 3`)
	b.Shoot("noscript-1280")
	b.Quiet(home + "/")
}

// Who wants no motion gets none between the events.
func TestReducedMotion(t *testing.T) {
	b := browsertest.Start(t)
	home, s := serve(t)
	s.hub.every = time.Hour
	browsertest.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
	b.Open(home+"/", 800)
	b.Is(`document.getElementById("link").classList.contains("live")`)
	b.Is(`document.getAnimations().length === 0`)
}
