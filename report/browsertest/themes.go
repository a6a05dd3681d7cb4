package browsertest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "write screenshots of the pages that the tests open into this `directory`")

// Shots is where screenshots go, for the eyes of whoever changes a page; empty if nobody wants any.
// They are asked for by go test -run Browser -shots DIR.
func Shots() string { return *shots }

// themes calls look once in each theme, and leaves the page in the one it had.
func (b *Browser) themes(look func(theme string)) {
	b.t.Helper()
	const theme = `document.documentElement.dataset.theme`
	was := Eval[string](b, theme+` || ""`)
	for _, name := range []string{"light", "dark"} {
		Eval[string](b, theme+` = "`+name+`"`)
		look(name)
	}
	Eval[string](b, theme+` = "`+was+`"`)
}

// Contrast asks of every text in both themes what WCAG 2.2 (1.4.3, level AA) asks: 4.5 to 1. Text of a drawing has the
// colour that it is filled with. The name is for the error.
func (b *Browser) Contrast(name string) {
	b.t.Helper()
	b.themes(func(theme string) {
		b.t.Helper()
		bad := Eval[[]string](b, `(() => {
			const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
			const rgba = s => s.match(/[\d.]+/g).map(Number);
			const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
			const behind = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c } return [255, 255, 255] };
			const bad = new Set();
			for (const e of document.body.querySelectorAll("*")) {
				if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
				const style = getComputedStyle(e), a = light(rgba(e.namespaceURI.endsWith("svg") ? style.fill : style.color)), b = light(behind(e));
				const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
				if (ratio < 4.5) bad.add(e.tagName + "." + e.getAttribute("class") + "#" + e.id + " " + ratio.toFixed(2));
			}
			return [...bad];
		})()`)
		if len(bad) > 0 {
			b.t.Errorf("%s, %s: too little contrast: %s", name, theme, strings.Join(bad, ", "))
		}
	})
}

// Shoot writes NAME-light.png and NAME-dark.png of the whole page if screenshots are wanted.
func (b *Browser) Shoot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	b.themes(func(theme string) {
		b.t.Helper()
		png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*shots, name+"-"+theme+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	})
}
