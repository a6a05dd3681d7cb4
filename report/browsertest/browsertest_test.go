package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/chromedp/chromedp.(*Browser).run"))
}

// recorder is a test that notes down why it fails.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// What is wrong with a page is found, each fault by the method that is for it, and nothing with one that is right.
func TestFindsFaults(t *testing.T) {
	const head = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><style>` +
		`body { background: #fff; color: #000 } :root[data-theme=dark] body { background: #000; color: #fff }</style>`
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		// On white, #767676 is the lightest grey that has 4.5 to 1, and #808080 has 3.95.
		{"right", `<p>Text</p><svg><text y="20" style="fill: #767676">Text</text></svg>`, nil},
		{"dark", `<p style="color: #000">Text</p>`, []string{"dark, dark: too little contrast: P.null# 1.00"}},
		{"drawing", `<svg><text y="20" style="fill: #808080">Text</text></svg>`, []string{"drawing, light: too little contrast: text.null# 3.95"}},
		{"wide", `<p style="width: 500px">Text</p>`, []string{"not so: document.documentElement.scrollWidth"}},
		{"foreign", `<p>Text</p><img alt="" src="http://127.0.0.1:9/picture">`, []string{"the page asks for http://127.0.0.1:9/picture", "the browser says Failed to load resource"}},
		{"faulty", `<p>Text</p><script>throw new Error("on purpose")</script>`, []string{"the browser says Uncaught"}},
		{"talking", `<p>Text</p><script>console.log("hello")</script>`, []string{"the browser says console.log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, head, c.body) }))
			defer server.Close()
			r := &recorder{TB: t}
			b := Start(r)
			b.patience = time.Second
			b.Open(server.URL, 360)
			b.Fits(360)
			b.Contrast(c.name)
			b.Quiet(server.URL)
			if !slices.EqualFunc(r.said, c.want, strings.HasPrefix) {
				t.Errorf("it says %q, want %q", r.said, c.want)
			}
		})
	}
}

// Without scripts the page's do not run, but the test may still ask.
func TestNoScript(t *testing.T) {
	b := Start(t)
	b.NoScript()
	b.Open(`data:text/html,<p>before</p><script>document.querySelector("p").textContent = "after"</script>`, 800)
	b.Is(`document.querySelector("p").textContent === "before"`)
}
