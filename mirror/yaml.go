package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// MaxConfig is how long a config may be, in bytes.
const MaxConfig = 1 << 20

// decode reads YAML into a struct, strictly: fields that are not known, fields said twice and
// values of another type are faults. It returns the line of each field.
func decode(file string, src []byte, to any) (map[string]int, error) {
	fault := func(line int, format string, args ...any) error {
		return &ConfigError{File: file, Line: line, Err: fmt.Errorf(format, args...)}
	}
	if len(src) > MaxConfig {
		return nil, fault(0, "it is longer than 1 MiB")
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(src))
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fault(0, "it is empty")
		}
		line, text := yamlFault(err)
		if n, hint := inFlow(src); hint != "" && strings.Contains(text, "',' or '") {
			line, text = max(line, n), text+hint
		}
		return nil, fault(line, "%s", text)
	}
	var second yaml.Node
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fault(0, "want one document, not several")
	}
	lines := map[string]int{}
	x := decoder{lines: lines, fault: fault}
	if len(doc.Content) != 1 {
		return nil, fault(0, "it is empty")
	}
	return lines, x.value("", doc.Content[0], reflect.ValueOf(to).Elem())
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func yamlFault(err error) (int, string) {
	s := err.Error()
	m := yamlLine.FindStringSubmatch(s)
	if m == nil {
		return 0, s
	}
	n, _ := strconv.Atoi(m[1])
	return n, "YAML: " + strings.ReplaceAll(s[len(m[0]):], "\n", " ")
}

// bare is a URL with a query that nobody has quoted, within braces.
var bare = regexp.MustCompile(`\{[^'"]*\bhttps?://[^'", }]*[?{]`)

// inFlow finds the line of such a URL: to YAML its ? and braces mean something else there.
func inFlow(src []byte) (int, string) {
	for i, line := range bytes.Split(src, []byte("\n")) {
		if bare.Match(line) {
			return i + 1, "; a URL within {...} has to be quoted"
		}
	}
	return 0, ""
}

type decoder struct {
	lines map[string]int
	fault func(line int, format string, args ...any) error
}

var durationType = reflect.TypeFor[time.Duration]()

func (d *decoder) value(path string, n *yaml.Node, v reflect.Value) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return d.fault(n.Line, "%s: anchors and aliases are not taken here", path)
	}
	if path != "" {
		d.lines[path] = n.Line
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.structure(path, n, v)
	case reflect.Map:
		return d.mapping(path, n, v)
	}
	if n.Kind != yaml.ScalarNode {
		return d.fault(n.Line, "%s: want %s, not a %s", path, kindName(v), nodeName(n))
	}
	wrong := func() error {
		return d.fault(n.Line, "%s: want %s, not %q", path, kindName(v), n.Value)
	}
	switch {
	case n.Tag == "!!null":
		return wrong()
	case v.Type() == durationType:
		x, err := time.ParseDuration(n.Value)
		if n.Value == "0" {
			x, err = 0, nil
		}
		if err != nil {
			return wrong()
		}
		v.SetInt(int64(x))
	case v.Kind() == reflect.String:
		// Numbers and booleans stay as they are written.
		v.SetString(n.Value)
	case v.Kind() == reflect.Int:
		x, err := strconv.Atoi(n.Value)
		if err != nil || n.Tag != "!!int" {
			return wrong()
		}
		v.SetInt(int64(x))
	case v.Kind() == reflect.Float64:
		x, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || n.Tag != "!!int" && n.Tag != "!!float" || x != x {
			return wrong()
		}
		v.SetFloat(x)
	case v.Kind() == reflect.Bool:
		if n.Tag != "!!bool" || n.Value != "true" && n.Value != "false" {
			return wrong()
		}
		v.SetBool(n.Value == "true")
	default:
		return d.fault(n.Line, "%s: a field of type %v", path, v.Type())
	}
	return nil
}

func (d *decoder) structure(path string, n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		if path == "" {
			return d.fault(n.Line, "want fields such as list: and path:, not a %s", nodeName(n))
		}
		return d.fault(n.Line, "%s: want fields, not a %s", path, nodeName(n))
	}
	fields := map[string]int{}
	var names []string
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			fields[f.Tag.Get("yaml")] = i
			names = append(names, f.Tag.Get("yaml"))
		}
	}
	said := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		where := join(path, k.Value)
		f, known := fields[k.Value]
		if !known || k.Kind != yaml.ScalarNode {
			if near := nearest(k.Value, names); near != "" {
				return d.fault(k.Line, "there is no field %s; did you mean %s?", where, join(path, near))
			}
			return d.fault(k.Line, "there is no field %s; there are %s", where, strings.Join(names, ", "))
		}
		if said[k.Value] {
			return d.fault(k.Line, "%s is there twice", where)
		}
		said[k.Value] = true
		if err := d.value(where, n.Content[i+1], v.Field(f)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) mapping(path string, n *yaml.Node, v reflect.Value) error {
	if n.Kind != yaml.MappingNode {
		return d.fault(n.Line, "%s: want names and values, not a %s", path, nodeName(n))
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, x := n.Content[i], n.Content[i+1]
		where := join(path, k.Value)
		if x.Kind != yaml.ScalarNode || x.Tag == "!!null" {
			return d.fault(x.Line, "%s: want a text", where)
		}
		key := reflect.ValueOf(k.Value)
		if v.MapIndex(key).IsValid() {
			return d.fault(k.Line, "%s is there twice", where)
		}
		d.lines[where] = x.Line
		v.SetMapIndex(key, reflect.ValueOf(x.Value))
	}
	return nil
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func kindName(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return "a time such as 10s"
	case v.Kind() == reflect.String:
		return "a text"
	case v.Kind() == reflect.Int:
		return "a whole number"
	case v.Kind() == reflect.Float64:
		return "a number"
	case v.Kind() == reflect.Bool:
		return "true or false"
	}
	return v.Type().String()
}

func nodeName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	return "text"
}

// nearest returns the name that is at most two slips of the pen away.
func nearest(s string, names []string) string {
	best, found := 3, ""
	for _, n := range names {
		if d := distance(strings.ToLower(s), n); d < best && d < len(n) {
			best, found = d, n
		}
	}
	return found
}

// distance is Levenshtein's.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
