package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// What net/http takes and wire does not, by wire's words, and what has to be in the bytes
// to excuse it.
var stricter = []struct {
	says, why string
	where     *regexp.Regexp
}{
	{"does not speak HTTP/1", "one blank each, three digits and no control characters in the status line", regexp.MustCompile(`(?m)^HTTP/\d\.\d( {2,}| [+-]|.*([\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r[^\n]))`)},
	{"not HTTP/1.1", "this is a client of HTTP/1", regexp.MustCompile(`(?m)^HTTP/[02-9]\.`)},
	{"there is no status", "three digits from 100 on", regexp.MustCompile(`(?m)^HTTP/\d\.\d +0\d\d`)},
	{"both a Content-Length and a Transfer-Encoding", "RFC 9112, 6.1: two parties may see different ends", regexp.MustCompile(`(?im)^transfer-encoding:`)},
	{"HTTP/1.0 has a Transfer-Encoding", "RFC 9112, 6.1: faulty framing", regexp.MustCompile(`(?im)^transfer-encoding:`)},
	{"Transfer-Encoding", "folded, or under HTTP/1.0, where net/http does not look at it", regexp.MustCompile(`HTTP/1\.0 |\n[ \t]`)},
	{"no length", "folded", regexp.MustCompile(`\n[ \t]`)},
	{"two lengths", "folded", regexp.MustCompile(`\n[ \t]`)},
	{"no header", "RFC 9112, 5: no folded lines, no blanks in names", regexp.MustCompile(`\n[ \t]|[ \t][^:\n]*:`)},
	{"control character", "RFC 9110, 5.5: none but tabs", regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)},
	{"another protocol", "it was not asked for", regexp.MustCompile(`(?m)^HTTP/1\.\d 101`)},
	{"in a row", "somebody plays", regexp.MustCompile(`(?m)^HTTP/1\.\d 1`)},
	{"CR LF", "net/http takes a bare LF between trailers", regexp.MustCompile(`\n`)},
}

// What wire takes and net/http does not, by net/http's words.
var laxer = []struct{ says, why string }{
	{"too much non-data", "many small chunks are slow, not wrong"},
	{"multiple Content-Length headers", "RFC 9110, 8.6: 5 and 05 are the same number"},
}

// Wire and net/http see the same response in the same bytes.
func FuzzAgainstNetHTTP(f *testing.F) {
	for _, s := range []string{
		ok + "Content-Length: 5\r\n\r\nhello",
		ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		ok + "Content-Length: 5, 5\r\n\r\nhello",
		ok + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\nHTTP",
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n0005 \t\r\nhello\r\n0;x\r\n\r\n",
		ok + "Connection: close, x\r\nX: y\n\nhello",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\nhello",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nA: b\r\n\r\nHTTP/1.1 204\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		ok + "Transfer-Encoding: chunked\n\n1\r\n0000000\n",
		ok + "T 0:0\n0 :\n\n0",
		"HTTP/0.0 000 \v\n\n",
		"HTTP/0.0 +00\n\n",
		"HTTP/1.0 200 \nContent-Length:\n 0\n\n",
		ok + "Content-Length: 5\r\nContent-Length: 05\r\n\r\nhello",
		ok + "X: a\r\n folded\r\nY : z\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		for _, method := range []string{"GET", "HEAD"} {
			s := &script{says: says}
			c := NewConn(s)
			w := exchange(c, request(t, method))
			rest := append(bytes.Clone(c.buf[c.r:c.w]), s.says...)

			slow := NewConn(&script{says: says, piece: bytewise})
			b := exchange(slow, request(t, method))
			if b.Reusable = b.Reusable && len(rest) == 0; b != w {
				t.Fatalf("%s: at once\n%+v\nbytewise\n%+v", method, w, b)
			}

			n, left, shut := readByNetHTTP(method, says)
			switch {
			case w.Err == "" && n.Err == "":
				if w.Reusable != (!shut && len(rest) == 0) && !w.Undefended {
					t.Errorf("%s: reusable is %v, net/http says close is %v", method, w.Reusable, shut)
				}
				n.Reusable = w.Reusable
				if method == "HEAD" || n.Status == 304 || n.Status == 204 {
					n.Length = 0
				}
				n.Undefended = w.Undefended // net/http does not tell
				if w != n || !bytes.Equal(rest, left) {
					t.Errorf("%s:\nwire     %+v, then %q\nnet/http %+v, then %q", method, w, rest, n, left)
				}
			case w.Err != "" && n.Err == "":
				for _, x := range stricter {
					if strings.Contains(w.Err, x.says) && x.where.Match(says) {
						return
					}
				}
				t.Errorf("%s: wire refuses what net/http takes: %s\n%+v", method, w.Err, n)
			case w.Err == "" && n.Err != "":
				for _, x := range laxer {
					if strings.Contains(n.Err, x.says) {
						return
					}
				}
				t.Errorf("%s: wire takes what net/http refuses: %s\n%+v", method, n.Err, w)
			}
		}
	})
}

func readByNetHTTP(method string, says []byte) (o outcome, left []byte, shut bool) {
	br := bufio.NewReader(bytes.NewReader(says))
	for {
		r, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			return outcome{Err: err.Error()}, nil, false
		}
		if r.StatusCode >= 100 && r.StatusCode < 200 && r.StatusCode != 101 {
			shut = shut || r.Close
			continue
		}
		body, err := io.ReadAll(r.Body)
		o = outcome{Status: r.StatusCode, Length: r.ContentLength, Body: string(body)}
		if err != nil {
			o.Err = err.Error()
		}
		left, _ = io.ReadAll(br)
		return o, left, shut || r.Close
	}
}

// A request that is made is read by others as it was meant, and holds nothing else.
func FuzzNewRequest(f *testing.F) {
	f.Add("GET", "http://example.org/a?b=c#d", "X-A", "b", "body")
	f.Add("POST", "http://user:pass@[::1%25eth0]:80/a b?c d=é", "Host", "other:1", "")
	f.Add("get", "https://bücher.example//x", "Content-Length", "7", "x")
	f.Add("", "HTTP://h?", "connection", "close", "")
	f.Add("GET /x HTTP/1.1\r\nA:", "http://h/\r\nA: b", "A\r\nB", "c\r\nD: e", "")
	f.Add("OPTIONS", "http://h/*", "Transfer-Encoding", "chunked", "x")
	f.Add("PUT", "http://a%25b;'<x", "Expect", "100-continue", "0\r\n\r\n")
	f.Fuzz(func(t *testing.T, method, target, name, value, body string) {
		r, err := NewRequest(method, target, http.Header{name: {value}}, []byte(body))
		if err != nil {
			return
		}
		br := bufio.NewReader(bytes.NewReader(r.bytes))
		q, err := http.ReadRequest(br)
		if err != nil {
			t.Fatalf("%v\n%q", err, r.bytes)
		}
		got, err := io.ReadAll(q.Body)
		if err != nil || string(got) != body || br.Buffered() > 0 {
			t.Fatalf("the body is %q, %v, and %d bytes are left\n%q", got, err, br.Buffered(), r.bytes)
		}
		if q.Method != r.Method || q.Host != r.Host || q.RequestURI != r.URL.RequestURI() {
			t.Fatalf("%s %s on %s became %s %s on %s\n%q", r.Method, r.URL.RequestURI(), r.Host, q.Method, q.RequestURI, q.Host, r.bytes)
		}
		if u := *r.URL; q.URL.EscapedPath() != u.EscapedPath() && u.EscapedPath() != "" || q.URL.RawQuery != u.RawQuery {
			t.Fatalf("%s became %s", r.URL, q.URL)
		}
		q.Header.Del("Content-Length")
		for k, vs := range r.Header {
			for i, v := range vs {
				if got := q.Header[k]; len(got) != len(vs) || got[i] != strings.Trim(v, " \t") {
					t.Fatalf("%s: %q became %q", k, vs, got)
				}
			}
			q.Header.Del(k)
		}
		if len(q.Header) > 0 {
			t.Fatalf("%v was not asked for\n%q", q.Header, r.bytes)
		}
	})
}
