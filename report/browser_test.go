package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/headway-lab/headway/report/browsertest"
)

// open loads the page of r at a width in CSS pixels.
func open(t *testing.T, b *browsertest.Browser, r *Report, width int64) {
	t.Helper()
	var html bytes.Buffer
	if err := r.HTML(&html); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Open("file://"+file, width)
}

const visibleCards = `[...document.querySelectorAll(".card")].filter(e => e.offsetParent).length`

func TestPageInBrowser(t *testing.T) {
	b := browsertest.Start(t)

	open(t, b, profile(), 1280)
	b.Is(visibleCards + ` === 8`)
	b.Is(`document.querySelectorAll("#overview li").length === 8`)
	b.Is(`document.querySelector("main h1") === document.querySelector("h1, h2, p")`) // the answer comes first

	// The filter, by name and by file, and away again.
	b.Key("/")
	b.Is(`document.activeElement.id === "filter"`)
	b.Key("dns msg.go")
	b.Is(visibleCards + ` === 1 && document.getElementById("count").textContent === "1 of 8"`)
	b.Key("?!")
	b.Is(visibleCards + ` === 0 && document.getElementById("nomatch").offsetParent && !document.getElementById("keys").open`)
	b.Key("\x1b")
	b.Is(visibleCards + ` === 8 && document.activeElement === document.body`)

	// The keyboard.
	b.Key("j")
	b.Is(`document.activeElement.id === "s1"`)
	b.Key("j")
	b.Is(`document.activeElement.id === "s2" && Math.abs(document.activeElement.getBoundingClientRect().top - 68) < 4`)
	b.Key("k")
	b.Is(`document.activeElement.id === "s1"`)
	b.Key("?")
	b.Is(`document.getElementById("keys").open`)
	b.Click("#keys button")
	b.Is(`!document.getElementById("keys").open`)

	// The theme.
	const paper = `getComputedStyle(document.body).backgroundColor`
	before := browsertest.Eval[string](b, paper)
	b.Click("#theme")
	after := browsertest.Eval[string](b, paper)
	if before == after {
		t.Errorf("the theme stays %s", before)
	}
	remembered := false
	for patience := time.Now().Add(20 * time.Second); !remembered && time.Now().Before(patience); time.Sleep(100 * time.Millisecond) {
		b.Do(chromedp.Reload()) // another process of the browser's stores it, on a busy machine after the page is back
		remembered = browsertest.Eval[string](b, paper) == after
	}
	if !remembered {
		t.Errorf("the theme %s is forgotten", after)
	}
	b.Key("t")
	b.Is(paper + ` === "` + before + `"`)

	// The overview leads to the cards, the points tell their numbers.
	b.Click(`#overview li:nth-child(2) a`)
	b.Is(`location.hash === "#s2" && scrollY > 0`)
	// The pointer enters again at every try: the scroll of the jump above may end late, and scrolling hides the tip.
	b.Is(`document.querySelector("#s2 .spot:last-child").dispatchEvent(new PointerEvent("pointerenter")) &&
		/100 % faster:.*interval.*n=18/.test(document.getElementById("tip").textContent) && document.getElementById("tip").offsetHeight > 0`)

	for name, r := range samples() {
		for _, width := range []int64{360, 768, 1280} {
			if width == 768 && browsertest.Shots() == "" {
				continue
			}
			open(t, b, r, width)
			b.Fits(width)
			if width == 360 || width == 1280 {
				b.Contrast(name)
			}
			b.Shoot(fmt.Sprintf("%s-%d", name, width))
		}
	}
	printed(t, b, profile())
	b.Quiet("file://")
}

// Without scripts everything is there but the filter, the theme and the help.
func TestPageWithoutScript(t *testing.T) {
	b := browsertest.Start(t)
	b.NoScript()
	open(t, b, profile(), 1280)
	b.Is(visibleCards + ` === 8`)
	b.Is(`!document.getElementById("filter").offsetParent && !document.getElementById("theme").offsetParent`)
	b.Is(`document.querySelector(".spot title")`)
}

func printed(t *testing.T, b *browsertest.Browser, r *Report) {
	t.Helper()
	open(t, b, r, 1280)
	pdf, err := chromedp.Run(b, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Error("it does not print")
	}
	if browsertest.Shots() != "" {
		if err := os.WriteFile(filepath.Join(browsertest.Shots(), "profile.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
