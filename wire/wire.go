// Package wire speaks HTTP as a client that has to know what it costs: every phase of
// an exchange is timed, every connection is seen, and a request over HTTP/1.1 allocates
// nothing.
//
// [Conn] is one HTTP/1.1 connection that does one exchange at a time:
//
//	get, err := wire.NewRequest("GET", "http://example.org/a", nil, nil)
//	c := wire.NewConn(tcp)
//	err = c.Send(get)
//	r, err := c.Receive()
//	n, err := c.Discard()
//
// [Dialer] makes connections and tells how long name, connection and handshake took.
// [Transport] keeps idle connections for many goroutines, as http.Transport does, with
// every limit in plain sight.
//
// A response is taken strictly by RFC 9112: a body that ends before its length, a length
// told twice differently, or bytes that nobody asked for are errors, never data.
package wire

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"
)

// Request is a request made ready by [NewRequest]: written once, sent as often as wanted,
// by many connections at a time. What is changed in it afterwards is not sent.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header // without Host, Content-Length and Transfer-Encoding
	Host   string      // as sent
	Body   []byte

	bytes []byte // as HTTP/1.1 has it
	last  bool   // it says that the connection ends with it
}

var errUnmade = errors.New("wire: the request was not made by NewRequest")

// NewRequest makes a request ready. The method "" is GET. A Host among the headers takes
// the place of the URL's; lengths are computed, whatever the headers say. The
// credentials of a URL such as http://user:password@host/ are sent as an Authorization
// header unless there is one.
func NewRequest(method, target string, header http.Header, body []byte) (*Request, error) {
	if method == "" {
		method = http.MethodGet
	}
	if !httpguts.ValidHeaderFieldName(method) {
		return nil, fmt.Errorf("method %q is none", method)
	}
	u, err := ParseURL(target)
	if err != nil {
		return nil, err
	}
	if method == http.MethodConnect {
		return nil, errors.New("method CONNECT opens a tunnel, which is more than an exchange")
	}
	r := &Request{Method: method, URL: u, Host: hostHeader(u), Body: body, Header: http.Header{}}
	var host []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		values := header[name]
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, fmt.Errorf("header %q: not a name that HTTP allows", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, fmt.Errorf("header %s: its value holds a character that HTTP does not allow", name)
			}
		}
		switch name {
		case "Host":
			host = append(host, values...)
		case "Content-Length", "Transfer-Encoding":
		default:
			r.Header[name] = append(r.Header[name], values...)
		}
	}
	if len(host) > 0 {
		if r.Host = strings.Trim(host[0], " \t"); len(host) > 1 || !httpguts.ValidHostHeader(r.Host) {
			return nil, fmt.Errorf("header Host: %q is not the name of one host", host)
		}
	}
	r.last = httpguts.HeaderValuesContainsToken(r.Header["Connection"], "close")
	if u.User != nil {
		if r.Header.Get("Authorization") == "" {
			password, _ := u.User.Password()
			h := http.Request{Header: http.Header{}}
			h.SetBasicAuth(u.User.Username(), password)
			r.Header.Set("Authorization", h.Header.Get("Authorization"))
		}
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "headway")
	}
	r.bytes = r.appendTo(nil)
	return r, nil
}

// ParseURL reads a URL that a request can go to: http or https, with a host. What is
// wrong is said in words for the one who wrote it.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("URL %q: %w", s, err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("URL %q: want http:// or https:// at its beginning", s)
	case u.Hostname() == "":
		return nil, fmt.Errorf("URL %q: it names no host", s)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("URL %q: there is no port %s", s, p)
		}
	}
	host, err := asciiHost(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("URL %q: %w", s, err)
	}
	if host == "" || !httpguts.ValidHostHeader(host) {
		return nil, fmt.Errorf("URL %q: there is no host %q", s, host)
	}
	u.RawQuery = escape(u.RawQuery)
	return u, nil
}

// escape writes what may not stand in a request as it is: blanks, and what is not ASCII.
func escape(query string) string {
	var b []byte
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f {
			b = fmt.Appendf(b, "%%%02X", c)
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// Address is where a URL's server listens, as host:port.
func Address(u *url.URL) string {
	host, err := asciiHost(u.Hostname())
	if err != nil {
		host = u.Hostname()
	}
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(host, port)
}

func asciiHost(host string) (string, error) {
	for i := range len(host) {
		if host[i] >= 0x80 {
			return idna.Lookup.ToASCII(host)
		}
	}
	return host, nil
}

func hostHeader(u *url.URL) string {
	host, err := asciiHost(u.Hostname())
	if err != nil {
		host = u.Hostname()
	}
	if strings.Contains(host, ":") {
		// A zone means something on this machine only.
		host, _, _ = strings.Cut(host, "%")
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" {
		host += ":" + p
	}
	return host
}

// appendTo writes the request as HTTP/1.1 has it.
func (r *Request) appendTo(b []byte) []byte {
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, r.URL.RequestURI()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.Host...)
	b = append(b, "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, v := range r.Header[name] {
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, v...)
			b = append(b, "\r\n"...)
		}
	}
	if len(r.Body) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(r.Body)), 10)
		b = append(b, "\r\n"...)
	}
	b = append(b, "\r\n"...)
	return append(b, r.Body...)
}

// Idempotent says whether the request may be sent again when nobody knows whether the
// server has taken it (RFC 9110, 9.2.2).
func (r *Request) Idempotent() bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodTrace:
		return true
	}
	return false
}
