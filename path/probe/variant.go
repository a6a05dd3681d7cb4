package probe

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/headway-lab/headway/path/tcpinfo"
	"github.com/headway-lab/headway/wire"
)

// Variant is one way to make the exchange.
type Variant struct {
	Name, Group string
	keep        bool // the connection of the exchange before is used again
	set         func(*Client, http.Header)
}

// words are the values that --try knows, and what they set.
var words = map[string]struct {
	kind string // values of the same kind may be compared
	set  func(*Client, http.Header)
}{
	"gzip":      {"encoding", encoding("gzip")},
	"br":        {"encoding", encoding("br")},
	"zstd":      {"encoding", encoding("zstd")},
	"deflate":   {"encoding", encoding("deflate")},
	"identity":  {"encoding", encoding("identity")},
	"h1":        {"protocol", func(c *Client, _ http.Header) { c.Protocol = wire.HTTP1 }},
	"h2":        {"protocol", func(c *Client, _ http.Header) { c.Protocol = wire.HTTP2 }},
	"ip4":       {"family", func(c *Client, _ http.Header) { c.Family = "4" }},
	"ip6":       {"family", func(c *Client, _ http.Header) { c.Family = "6" }},
	"tls1.2":    {"tls", version(tls.VersionTLS12)},
	"tls1.3":    {"tls", version(tls.VersionTLS13)},
	"new":       {"connection", nil},
	"keepalive": {"connection", nil},
}

func encoding(name string) func(*Client, http.Header) {
	return func(_ *Client, h http.Header) { h.Set("Accept-Encoding", name) }
}

func version(v uint16) func(*Client, http.Header) {
	return func(c *Client, _ http.Header) {
		t := &tls.Config{}
		if c.TLS != nil {
			t = c.TLS.Clone()
		}
		t.MinVersion, t.MaxVersion = v, v
		c.TLS = t
	}
}

// ParseTry reads what is to be compared: "gzip,identity", "h1,h2", "ip4,ip6", "tls1.2,tls1.3", "new,keepalive" or "cc=cubic,bbr".
// The first is the baseline.
func ParseTry(s string) ([]Variant, error) {
	const want = `want gzip,identity (br, zstd, deflate), h1,h2, ip4,ip6, tls1.2,tls1.3, new,keepalive or cc=cubic,bbr`
	group, list := "", s
	if name, rest, ok := strings.Cut(s, "="); ok {
		if name != "cc" {
			return nil, fmt.Errorf("%q: %s", s, want)
		}
		group, list = "congestion control", rest
	}
	var all []Variant
	for name := range strings.SplitSeq(list, ",") {
		v := Variant{Name: name, Group: group}
		if group == "congestion control" {
			if name == "" {
				return nil, fmt.Errorf("%q: a name is missing", s)
			}
			if err := known(name); err != nil {
				return nil, err
			}
			v.set = func(c *Client, _ http.Header) { c.Congestion = name }
		} else {
			w, ok := words[name]
			if !ok {
				return nil, fmt.Errorf("%q: %q is not known: %s", s, name, want)
			}
			if len(all) > 0 && all[0].Group != w.kind {
				return nil, fmt.Errorf("%q: %s and %s are not of the same kind; give each kind its own --try", s, all[0].Name, name)
			}
			v.Group, v.set, v.keep = w.kind, w.set, name == "keepalive"
		}
		if slices.ContainsFunc(all, func(o Variant) bool { return o.Name == name }) {
			return nil, fmt.Errorf("%q: %s is there twice", s, name)
		}
		all = append(all, v)
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("%q: want two values or more; the first is the baseline", s)
	}
	return all, nil
}

// known says whether the kernel has a congestion control.
func known(name string) error {
	have, err := tcpinfo.Available()
	if err == nil && !slices.Contains(have, name) {
		return fmt.Errorf("this kernel has no congestion control %q; it has %s", name, strings.Join(have, ", "))
	}
	return nil
}
