package zone

import (
	"fmt"
	"strconv"
	"time"

	"github.com/miekg/dns"

	"github.com/headway-lab/headway/iss/sky"
)

// TXT records are strings NAME=VALUE (RFC 1464), for people and programs alike. They are
// short: what is long is what attackers ask for in the name of others.

func (z *Zone) text(owner string, strings []string, ttl uint32) dns.RR {
	for i, s := range strings {
		strings[i] = quote(s)
	}
	return &dns.TXT{Hdr: header(owner, dns.TypeTXT, ttl), Txt: strings}
}

// quote makes a string one that miekg/dns packs as it is: names come from elsewhere. What
// is not printable ASCII becomes a question mark.
func quote(s string) string {
	b := make([]byte, 0, len(s)+2)
	for _, c := range s {
		switch {
		case len(b) >= 250:
			return string(b)
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || c > '~':
			b = append(b, '?')
		default:
			b = append(b, byte(c))
		}
	}
	return string(b)
}

// clip bounds what others named.
func clip(s string) string {
	if len(s) > 40 {
		return s[:37] + "..."
	}
	return s
}

// about the zone, at its origin.
func (z *Zone) about(t time.Time) []string {
	r := z.cat.Now()
	o := r.Station()
	return append([]string{
		fmt.Sprintf("objects=%d", r.Len()),
		fmt.Sprintf("example=LOC for %s.%s", o.Label, z.Origin),
	}, z.ageText(o, t)...)
}

func (z *Zone) objectText(o *sky.Object, t time.Time) []string {
	text := []string{"object=" + clip(o.Name), "number=" + strconv.Itoa(o.Number)}
	if o.Designator != "" {
		text = append(text, "designator="+clip(o.Designator))
	}
	text = append(text, z.ageText(o, t)...)
	if _, _, err := z.LOC(o, t); err != nil {
		text = append(text, "no-location="+err.Error())
	}
	return text
}

// ageText says how old the elements are, and what that means.
func (z *Zone) ageText(o *sky.Object, t time.Time) []string {
	age := o.Age(t)
	text := []string{
		"epoch=" + o.Epoch.UTC().Format(time.RFC3339),
		"age=" + sky.Days(age),
		"elements=" + clip(z.cat.Now().Origin.Text),
	}
	if sky.FreshnessOf(age) != sky.Fresh {
		text = append(text, "warning="+warning(o, age))
	}
	return text
}

// ambiguousText lists the first objects that share a name.
func ambiguousText(e *sky.AmbiguousError) []string {
	text := []string{fmt.Sprintf("problem=%d objects have this name, ask by number", len(e.Objects))}
	for _, o := range e.Objects[:min(len(e.Objects), 8)] {
		text = append(text, o.Label)
	}
	return text
}
