package mirror

import (
	"net/url"
	"slices"
	"strings"
)

// secret is a value that came from the environment.
type secret struct{ name, value string }

// shortest is how long a value has to be to be known again: shorter ones are everywhere.
const shortest = 4

// A needle is one form that a secret has in texts, and what stands for it.
type needle struct{ text, sign string }

// learn makes a value one that no file and no message may hold.
func (c *Config) learn(name, value string) {
	if len(value) < shortest {
		return
	}
	c.secrets = append(c.secrets, secret{name, value})
	for _, x := range []needle{{value, "${" + name + "}"}, {url.QueryEscape(value), "${" + name + ":query}"}, {url.PathEscape(value), "${" + name + ":path}"}} {
		if !slices.ContainsFunc(c.needles, func(n needle) bool { return n.text == x.text }) {
			c.needles = append(c.needles, x)
		}
	}
	// Where one value holds another, the longer is the one that is meant.
	slices.SortStableFunc(c.needles, func(a, b needle) int { return len(b.text) - len(a.text) })
}

// redact takes what came from the environment out of a text that people see.
func (c *Config) redact(s string) string {
	for _, x := range c.needles {
		name, _, _ := strings.Cut(strings.TrimSuffix(x.sign, "}"), ":")
		s = strings.ReplaceAll(s, x.text, name+"}")
	}
	return s
}

// hide is redact for what has to be had back: a $ of the text itself is doubled.
func (c *Config) hide(s string) string {
	if len(c.needles) == 0 && !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 1
		if at := slices.IndexFunc(c.needles, func(x needle) bool { return strings.HasPrefix(s[i:], x.text) }); at >= 0 {
			b.WriteString(c.needles[at].sign)
			n = len(c.needles[at].text)
		} else if s[i] == '$' {
			b.WriteString("$$")
		} else {
			b.WriteByte(s[i])
		}
		i += n
	}
	return b.String()
}

// reveal undoes hide, with the values that the environment has now.
func (c *Config) reveal(s string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "$$") {
			b.WriteByte('$')
			i += 2
			continue
		}
		if n := strings.IndexByte(s[i:], '}'); strings.HasPrefix(s[i:], "${") && n > 0 {
			name, form, _ := strings.Cut(s[i+2:i+n], ":")
			if at := slices.IndexFunc(c.secrets, func(x secret) bool { return x.name == name }); at >= 0 {
				value := c.secrets[at].value
				switch form {
				case "query":
					value = url.QueryEscape(value)
				case "path":
					value = url.PathEscape(value)
				}
				b.WriteString(value)
				i += n + 1
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// each applies f to every text that a record holds.
func each(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = each(v[i], f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[f(k)] = each(x, f)
		}
		return out
	}
	return v
}
