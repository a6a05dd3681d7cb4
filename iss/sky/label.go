package sky

import (
	"strings"
)

// Label makes of a name what a label of the DNS may be: small letters and digits, with a
// hyphen for everything between them, at most 63 bytes. It is empty if nothing is left.
// Letters outside ASCII are left out: catalogues have none.
func Label(name string) string {
	b := make([]byte, 0, len(name))
	gap := false
	for i := 0; i < len(name) && len(b) < 63; i++ {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			gap = true
			continue
		}
		if gap && len(b) > 0 {
			if len(b) > 61 {
				break
			}
			b = append(b, '-')
		}
		gap = false
		b = append(b, c)
	}
	return string(b)
}

// parts of a name with brackets: "EWS-G2 (GOES 15)" is also EWS-G2 and GOES 15.
func parts(name string) []string {
	open := strings.IndexByte(name, '(')
	if open < 0 {
		return nil
	}
	out := []string{strings.TrimSpace(name[:open])}
	for rest := name[open+1:]; ; {
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return out
		}
		out = append(out, strings.TrimSpace(rest[:end]))
		next := strings.IndexByte(rest[end:], '(')
		if next < 0 {
			return out
		}
		rest = rest[end+next+1:]
	}
}

// number reads a catalogue number: up to nine digits.
func number(label string) (int, bool) {
	if label == "" || len(label) > 9 {
		return 0, false
	}
	n := 0
	for i := 0; i < len(label); i++ {
		if label[i] < '0' || label[i] > '9' {
			return 0, false
		}
		n = n*10 + int(label[i]-'0')
	}
	return n, true
}

// known are the names that people use for objects that the catalogue calls otherwise;
// the first is the one to show.
var known = map[int][]string{
	25544: {"iss", "station", "international-space-station", "zarya"},
	20580: {"hubble", "hst"},
	48274: {"css", "tiangong", "tianhe"},
	5:     {"vanguard-1"},
	7530:  {"ao-7", "oscar-7"},
	25338: {"noaa-15"},
	28654: {"noaa-18"},
	33591: {"noaa-19"},
	43013: {"noaa-20", "jpss-1"},
}
