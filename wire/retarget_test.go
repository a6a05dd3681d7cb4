package wire

import (
	"net/http"
	"testing"
)

// A request made of another is what NewRequest would have made.
func TestAtIsNewRequest(t *testing.T) {
	h := http.Header{"Authorization": {"Bearer x"}, "Accept": {"*/*"}}
	r, err := NewRequest("", "http://example.org:8080/first?x=1", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	var into Request
	for _, target := range []string{"/", "/records/7?full=1", "/a%2Fb", "/a%20b?q=%C3%A9", "/?", "/x"} {
		want, err := NewRequest("", "http://example.org:8080"+target, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.At(target, &into); err != nil {
			t.Fatal(err)
		}
		if string(into.bytes) != string(want.bytes) || into.URL.RequestURI() != want.URL.RequestURI() || Address(into.URL) != Address(want.URL) {
			t.Errorf("%s: got %q and %s, want %q and %s", target, into.bytes, into.URL, want.bytes, want.URL)
		}
	}
	for _, bad := range []string{"", "x", "/a b", "/a\r\nX: y", "/é", "/a#b", "/%zz"} {
		if err := r.At(bad, &into); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if r.URL.Path != "/first" {
		t.Error("the first request has changed")
	}
}
