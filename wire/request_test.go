package wire

import (
	"net/http"
	"strings"
	"testing"
)

func TestRequestAsSent(t *testing.T) {
	type h = http.Header
	for _, x := range []struct {
		method, target string
		header         http.Header
		body, want     string
	}{
		{"", "http://example.org", nil, "", "GET / HTTP/1.1\nHost: example.org\nUser-Agent: headway\n\n"},
		{"GET", "http://Example.org:8080/a%2Fb?c=d&e#f", nil, "", "GET /a%2Fb?c=d&e HTTP/1.1\nHost: Example.org:8080\nUser-Agent: headway\n\n"},
		{"GET", "http://h//a?", nil, "", "GET //a? HTTP/1.1\nHost: h\nUser-Agent: headway\n\n"},
		{"GET", "http://h/a b?c d=é", nil, "", "GET /a%20b?c%20d=%C3%A9 HTTP/1.1\nHost: h\nUser-Agent: headway\n\n"},
		{"GET", "http://[::1]:80/", nil, "", "GET / HTTP/1.1\nHost: [::1]:80\nUser-Agent: headway\n\n"},
		{"GET", "http://[fe80::1%25eth0]/", nil, "", "GET / HTTP/1.1\nHost: [fe80::1]\nUser-Agent: headway\n\n"},
		{"GET", "https://BÜCHER.example/", nil, "", "GET / HTTP/1.1\nHost: xn--bcher-kva.example\nUser-Agent: headway\n\n"},
		{"GET", "http://user:p%3Aw%0D%0A@h/", nil, "", "GET / HTTP/1.1\nHost: h\nAuthorization: Basic dXNlcjpwOncNCg==\nUser-Agent: headway\n\n"},
		{"GET", "http://user:pw@h/", h{"authorization": {"Bearer x"}}, "", "GET / HTTP/1.1\nHost: h\nAuthorization: Bearer x\nUser-Agent: headway\n\n"},
		{"GET", "http://h/", h{"host": {" other:1 "}, "User-agent": {"u"}}, "", "GET / HTTP/1.1\nHost: other:1\nUser-Agent: u\n\n"},
		{"GET", "http://h/", h{"x": {"1"}, "X": {"2", "3"}, "A ": {""}}, "", "GET / HTTP/1.1\nHost: h\nA: \nUser-Agent: headway\nX: 2\nX: 3\nX: 1\n\n"},
		{"POST", "http://h/", h{"Content-Length": {"7"}, "Transfer-Encoding": {"chunked"}}, "", "POST / HTTP/1.1\nHost: h\nUser-Agent: headway\nContent-Length: 0\n\n"},
		{"DELETE", "http://h/", nil, "body", "DELETE / HTTP/1.1\nHost: h\nUser-Agent: headway\nContent-Length: 4\n\nbody"},
	} {
		r, err := NewRequest(x.method, x.target, x.header, []byte(x.body))
		if err != nil {
			t.Errorf("%s: %v", x.target, err)
		} else if got := strings.ReplaceAll(string(r.bytes), "\r\n", "\n"); got != x.want {
			t.Errorf("%s is sent as\n%s\nwant\n%s", x.target, got, x.want)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	type h = http.Header
	for _, x := range []struct {
		method, target string
		header         http.Header
		says           string
	}{
		{"GET /", "http://h/", nil, "method"},
		{"G\r\nX: y", "http://h/", nil, "method"},
		{"CONNECT", "http://h/", nil, "tunnel"},
		{"GET", "", nil, "want http://"},
		{"GET", "h/", nil, "want http://"},
		{"GET", "//h/", nil, "want http://"},
		{"GET", "ftp://h/", nil, "want http://"},
		{"GET", "localhost:80", nil, "want http://"},
		{"GET", "http:h", nil, "no host"},
		{"GET", "http:///a", nil, "no host"},
		{"GET", "http://:80/", nil, "no host"},
		{"GET", "http://\u00ad/", nil, ""},
		{"GET", "http://a\"b/", nil, "no host"},
		{"GET", "http://h:0/", nil, "no port 0"},
		{"GET", "http://h:65536/", nil, "no port 65536"},
		{"GET", "http://h:x/", nil, "port"},
		{"GET", "http://[::1/", nil, "URL"},
		{"GET", "http://h\r\n/", nil, "URL"},
		{"GET", "http://h/\r\nX: y", nil, "URL"},
		{"GET", "http://h/?a\nb", nil, "URL"},
		{"GET", "http://h%0d%0a/", nil, "URL"},
		{"GET", "http://a b/", nil, "URL"},
		{"GET", "http://xn--a-é.example/", nil, "URL"},
		{"GET", "http://h/", h{"A\r\nB": {"c"}}, "not a name"},
		{"GET", "http://h/", h{"A:": {"c"}}, "not a name"},
		{"GET", "http://h/", h{"": {"c"}}, "not a name"},
		{"GET", "http://h/", h{"A": {"b", "c\r\nD: e"}}, "does not allow"},
		{"GET", "http://h/", h{"A": {"\x00"}}, "does not allow"},
		{"GET", "http://h/", h{"Host": {"a\nb"}}, "does not allow"},
		{"GET", "http://h/", h{"Host": {"a b"}}, "one host"},
		{"GET", "http://h/", h{"Host": {"a"}, "host": {"b"}}, "one host"},
		{"GET", "http://h/", h{"Content-Length": {"1\r\nA: b"}}, "does not allow"},
	} {
		if r, err := NewRequest(x.method, x.target, x.header, nil); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%q %q %q: %v, want %q\n%+v", x.method, x.target, x.header, err, x.says, r)
		}
	}
}

func TestAddress(t *testing.T) {
	for target, want := range map[string]string{
		"http://h":                  "h:80",
		"https://h/":                "h:443",
		"http://h:/":                "h:80",
		"https://h:80/":             "h:80",
		"http://[::1]":              "[::1]:80",
		"http://[fe80::1%25eth0]:1": "[fe80::1%eth0]:1",
		"http://bücher.example":     "xn--bcher-kva.example:80",
	} {
		u, err := ParseURL(target)
		if err != nil || Address(u) != want {
			t.Errorf("%s: %v, %v, want %s", target, u, err, want)
		}
	}
}

// A copy shares nothing that At writes to.
func TestAtOfCopy(t *testing.T) {
	r := must[*Request](t)(NewRequest("GET", "http://h/first", nil, nil))
	into, want := *r, string(r.bytes)
	if err := r.At("/x", &into); err != nil || string(r.bytes) != want || r.URL.Path != "/first" {
		t.Errorf("%v: the first request is now %q", err, r.bytes)
	}
}
