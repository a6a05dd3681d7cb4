package page

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headway-lab/headway/iss/sky"
	"github.com/headway-lab/headway/iss/zone"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/chromedp/chromedp.(*Browser).run"))
}

// noon is when the elements that are built in are half a day old.
var noon = time.Date(2026, 8, 5, 12, 0, 0, 0, time.UTC)

// newSite has a clock that begins at noon and goes, unless another is given.
func newSite(t testing.TB, now func() time.Time) *Site {
	t.Helper()
	c := sky.NewCatalogue(sky.BuiltIn())
	z, err := zone.New(zone.Config{Origin: "example."}, c)
	if err != nil {
		t.Fatal(err)
	}
	if now == nil {
		begin := time.Now()
		now = func() time.Time { return noon.Add(time.Since(begin)) }
	}
	s, err := New(Options{Catalogue: c, Zone: z, Dig: "@127.0.0.1 -p 5353", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
