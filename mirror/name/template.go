package name

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// Template is text with placeholders for what a record holds:
//
//	{id}                   a field
//	{customer.name}        a field of a field
//	{created:2006/01/02}   a time, RFC 3339 or seconds since 1970, in UTC, in Go's layout
//	{status|unknown}       a field, or "unknown" where it is missing or null
//	{created:2006/01|none} both: the word comes last, and may hold slashes
//	{id#2}                 two hexadecimal digits of the field's hash: 256 directories
//	{=.tags[0] // "none"}  what a jq expression yields
//	{{ }}                  braces
type Template struct {
	text  string
	parts []part
}

type part struct {
	text  string   // literal text, if field and jq are empty
	field []string // the way to the value
	name  string   // as written

	layout    string
	digits    int
	otherwise string
	optional  bool
	jq        *gojq.Code
}

func (p *part) literal() bool { return p.field == nil && p.jq == nil }

// String returns the template as it was written.
func (t *Template) String() string { return t.text }

// Parse reads a template.
func Parse(s string) (*Template, error) {
	t := &Template{text: s}
	literal := strings.Builder{}
	flush := func() {
		if literal.Len() > 0 {
			t.parts = append(t.parts, part{text: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '{' && i+1 < len(s) && s[i+1] == '{', c == '}' && i+1 < len(s) && s[i+1] == '}':
			literal.WriteByte(c)
			i += 2
		case c == '}':
			return nil, fmt.Errorf("%q: a } without its {; write }} for the character", s)
		case c == '{':
			n := closing(s[i:])
			if n < 0 {
				return nil, fmt.Errorf("%q: a { without its }; write {{ for the character", s)
			}
			flush()
			p, err := placeholder(s[i+1 : i+n])
			if err != nil {
				return nil, fmt.Errorf("%q: {%s}: %w", s, s[i+1:i+n], err)
			}
			t.parts = append(t.parts, p)
			i += n + 1
		default:
			literal.WriteByte(c)
			i++
		}
	}
	flush()
	return t, nil
}

// closing finds the brace that ends a placeholder. In a jq expression braces nest, and those in
// strings do not count.
func closing(s string) int {
	if !strings.HasPrefix(s, "{=") {
		return strings.IndexByte(s, '}')
	}
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func placeholder(s string) (part, error) {
	p := part{name: s}
	if expr, ok := strings.CutPrefix(s, "="); ok {
		code, err := Compile(expr)
		p.jq = code
		return p, err
	}
	field, rest, optional := strings.Cut(s, "|")
	p.otherwise, p.optional = rest, optional
	if i := strings.IndexAny(field, ":#"); i >= 0 {
		kind, rest := field[i], field[i+1:]
		field = field[:i]
		switch kind {
		case ':':
			if rest == "" {
				return p, errors.New("want a layout after the colon, such as 2006/01/02")
			}
			if err := layoutSafe(rest); err != nil {
				return p, err
			}
			if err := elements(rest); err != nil {
				return p, err
			}
			p.layout = rest
			if err := layoutSafe(p.otherwise); optional && (err != nil || p.otherwise == "" || slices.Contains(strings.Split(p.otherwise, "/"), "")) {
				return p, fmt.Errorf("want a word after the |, such as {%s|none}", s[:strings.IndexByte(s, '|')])
			}
		case '#':
			n, err := strconv.Atoi(rest)
			if err != nil || n < 1 || n > 8 {
				return p, errors.New("want 1 to 8 digits after #")
			}
			p.digits = n
		}
	} else if word, layout, ok := strings.Cut(p.otherwise, ":"); ok && elements(layout) == nil {
		return p, fmt.Errorf("the word comes last: write {%s:%s|%s}", field, layout, word)
	}
	p.field = strings.Split(field, ".")
	for _, f := range p.field {
		if f != strings.TrimSpace(f) {
			return p, fmt.Errorf("there are blanks around a name: write {%s}", strings.Join(strings.Fields(s), ""))
		}
		if f == "" {
			return p, errors.New("want the name of a field, such as {id} or {customer.id}; other names need jq, as in {=.\"a b\"}")
		}
	}
	p.name = field
	return p, nil
}

// layoutSafe refuses layouts with parts that would be no names.
func layoutSafe(layout string) error {
	for part := range strings.SplitSeq(layout, "/") {
		if strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\x00%") {
			return fmt.Errorf("a layout cannot have the part %q", part)
		}
	}
	return nil
}

// foreign are words that other layouts have for years, months and days.
var foreign = regexp.MustCompile(`(?i)(?:^|[^a-z])(yyyy|yy|mm|dd|hh|ss)(?:$|[^a-z])`)

// elements refuses layouts that say nothing of a time.
func elements(layout string) error {
	a := time.Date(2001, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	b := time.Date(1999, 11, 22, 13, 44, 55, 123_000_000, time.UTC)
	if word := foreign.FindStringSubmatch(layout); word != nil || a.Format(layout) == b.Format(layout) {
		return fmt.Errorf("%s is no layout of Go's: want 2006 for the year, 01 for the month, 02 for the day, 15 for the hour, such as 2006/01/02", layout)
	}
	return nil
}

// Compile compiles a jq expression without access to the environment.
func Compile(expr string) (*gojq.Code, error) {
	q, err := gojq.Parse(expr)
	if err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	return code, nil
}

// Record is what a record holds: nested maps, slices, strings, bools, nil, and numbers of any
// type that encoding/json and gojq have.
type Record = any

// MissingError says that a record has no value for a placeholder.
type MissingError struct{ Field string }

func (e *MissingError) Error() string { return "the record has no " + e.Field }

// value returns the text of a placeholder's value.
func (p *part) value(r Record) (string, error) {
	v := r
	if p.jq != nil {
		var ok bool
		iter := p.jq.Run(r)
		if v, ok = iter.Next(); !ok {
			return "", &MissingError{"{" + p.name + "}"}
		}
		if err, bad := v.(error); bad {
			return "", fmt.Errorf("{%s}: %w", p.name, err)
		}
		if v == nil {
			return "", &MissingError{"{" + p.name + "}"}
		}
	} else {
		for _, f := range p.field {
			m, ok := v.(map[string]any)
			if !ok {
				v = nil
				break
			}
			v = m[f]
		}
		if v == nil {
			if p.optional {
				return p.otherwise, nil
			}
			return "", &MissingError{p.name}
		}
	}
	if p.layout != "" {
		t, err := moment(v)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		return t.Format(p.layout), nil
	}
	s, err := text(v)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.name, err)
	}
	if p.digits > 0 {
		h := fnv.New64a()
		h.Write([]byte(s))
		// FNV's low bits are the best; multiply to mix them into the high ones.
		sum := binary.BigEndian.AppendUint64(nil, h.Sum64()*0x9e3779b97f4a7c15)
		return fmt.Sprintf("%x", sum)[:p.digits], nil
	}
	return s, nil
}

func text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case *big.Int:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case nil:
		return "", errors.New("null")
	}
	return "", errors.New("an object or a list has no place in a name or a URL")
}

// moment reads a time.
func moment(v any) (time.Time, error) {
	s, err := text(v)
	if err != nil {
		return time.Time{}, err
	}
	if _, is := v.(string); is {
		for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04:05", time.DateTime} {
			if t, err := time.Parse(layout, s); err == nil {
				return inRange(t.UTC())
			}
		}
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || !(-1e12 < seconds && seconds < 1e12) {
		return time.Time{}, fmt.Errorf("%.40q is no time: want RFC 3339, or seconds since 1970", s)
	}
	return inRange(time.Unix(int64(math.Floor(seconds)), 0).UTC())
}

func inRange(t time.Time) (time.Time, error) {
	if y := t.Year(); y < 0 || y > 9999 {
		return t, fmt.Errorf("the year %d is not of four digits", y)
	}
	return t, nil
}

// Path appends the path that the record gets: relative, without . and .., each name safe.
func (t *Template) Path(b []byte, r Record, s Style) ([]byte, error) {
	from, fixed := len(b), true
	end := func() { b = finish(b, from, s, fixed) }
	separate := func() {
		if len(b) == from {
			return // nothing before the slash
		}
		end()
		b = append(b, '/')
		from, fixed = len(b), true
	}
	for i := range t.parts {
		p := &t.parts[i]
		v, whole := p.text, true
		if !p.literal() {
			var err error
			if v, err = p.value(r); err != nil {
				return b, err
			}
			whole = p.layout != ""
		}
		if !whole {
			fixed = false
			b = appendValue(b, v, s)
			continue
		}
		if !p.literal() {
			fixed = false
		}
		for {
			j := strings.IndexByte(v, '/')
			if j < 0 {
				b = append(b, v...)
				break
			}
			b = append(b, v[:j]...)
			separate()
			if !p.literal() {
				fixed = false
			}
			v = v[j+1:]
		}
	}
	if len(b) == from {
		return b, errors.New("the path ends with a slash")
	}
	end()
	return b, nil
}

// Expand appends the template with every value as a URL has it: all but letters, digits
// and -._~ is written %XX, so that a value is one segment of a path, or one value of a query.
func (t *Template) Expand(b []byte, r Record) ([]byte, error) {
	for i := range t.parts {
		p := &t.parts[i]
		if p.literal() {
			b = append(b, p.text...)
			continue
		}
		v, err := p.value(r)
		if err != nil {
			return b, err
		}
		if (v == "." || v == "..") && len(b) > 0 && b[len(b)-1] == '/' {
			// Some servers take even %2E%2E for the directory above.
			return b, fmt.Errorf("%s is %q, which would be another place in the URL", p.name, v)
		}
		if v == "" && len(b) > 0 && b[len(b)-1] == '/' && bytes.IndexByte(b, '?') < 0 && (i+1 == len(t.parts) || t.parts[i+1].literal() && strings.IndexByte("/?", t.parts[i+1].text[0]) >= 0) {
			// That would be the list of all records, or the one above.
			return b, fmt.Errorf("%s is empty, which would be another place in the URL", p.name)
		}
		for j := range len(v) {
			c := v[j]
			if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~' {
				b = append(b, c)
			} else {
				b = escape(b, c)
			}
		}
	}
	return b, nil
}

// Text appends the template with every value as it is.
func (t *Template) Text(b []byte, r Record) ([]byte, error) {
	for i := range t.parts {
		p := &t.parts[i]
		v := p.text
		if !p.literal() {
			var err error
			if v, err = p.value(r); err != nil {
				return b, err
			}
			// Keeps values apart that stand side by side.
			b = strconv.AppendInt(b, int64(len(v)), 36)
			b = append(b, ':')
		}
		b = append(b, v...)
	}
	return b, nil
}

// Literal returns the text before the first placeholder.
func (t *Template) Literal() string {
	if len(t.parts) > 0 && t.parts[0].literal() {
		return t.parts[0].text
	}
	return ""
}

// Fields returns what the placeholders name.
func (t *Template) Fields() []string {
	var all []string
	for i := range t.parts {
		if p := &t.parts[i]; !p.literal() {
			all = append(all, p.name)
		}
	}
	return all
}

// Check finds faults that every path of the template has.
func (t *Template) Check() error {
	if len(t.parts) == 0 {
		return errors.New("it is empty")
	}
	if len(t.Fields()) == 0 {
		return errors.New("it has no placeholder such as {id}: all records would be one file")
	}
	text := ""
	for i := range t.parts {
		if t.parts[i].literal() {
			text += t.parts[i].text
		} else {
			text += "\x01"
		}
	}
	if strings.HasPrefix(text, "/") {
		return errors.New("it begins with a slash; paths are relative to the directory")
	}
	for i, c := range strings.Split(text, "/") {
		switch {
		case c == "":
			return errors.New("it has nothing between two slashes, or after the last")
		case c == "." || c == "..":
			return fmt.Errorf("%s has no place in a path", c)
		case i == 0 && strings.EqualFold(c, ".headway-mirror"):
			return errors.New(".headway-mirror is where the journal is")
		case strings.ContainsAny(c, "\x00%"):
			return errors.New("its text cannot hold NUL and %")
		}
	}
	return nil
}

// Determines says whether the path alone tells all fields of other, so that records that
// differ there cannot get one path: each stands in the path, with no second placeholder
// in the same name.
func (t *Template) Determines(other *Template) bool {
	alone := map[string]bool{}
	var inName []int
	settle := func() {
		if len(inName) == 1 {
			p := &t.parts[inName[0]]
			if p.jq == nil && p.layout == "" && p.digits == 0 && !p.optional {
				alone[p.name] = true
			}
		}
		inName = inName[:0]
	}
	for i := range t.parts {
		p := &t.parts[i]
		if p.literal() {
			if strings.Contains(p.text, "/") {
				settle()
			}
			continue
		}
		inName = append(inName, i)
		if strings.Contains(p.layout, "/") {
			inName = append(inName, i)
		}
	}
	settle()
	for i := range other.parts {
		p := &other.parts[i]
		if p.literal() {
			continue
		}
		if p.jq != nil || p.layout != "" || p.optional || !alone[p.name] {
			return false
		}
	}
	return true
}
