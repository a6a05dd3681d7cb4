package orbit

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readJSON takes an array of flat objects, or one of them. Numbers may be written as
// strings, as Space-Track does.
func readJSON(r io.Reader, c *collector) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	where := offsets{data: data}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	// wrong says where the decoder is; its own messages are about the same place.
	wrong := func(format string, args ...any) error {
		line, column := where.of(d.InputOffset())
		return &ParseError{line, column, fmt.Sprintf(format, args...)}
	}
	next := func() (json.Token, error) {
		t, err := d.Token()
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, wrong("ends before the JSON does")
			}
			return nil, wrong("%v", err)
		}
		return t, nil
	}
	object := func() error {
		line, _ := where.of(d.InputOffset())
		m := newMessage(line)
		for d.More() {
			key, err := next()
			if err != nil {
				return err
			}
			value, err := next()
			if err != nil {
				return err
			}
			line, column := where.of(d.InputOffset())
			switch v := value.(type) {
			case string:
				m.set(key.(string), v, line, column)
			case json.Number:
				m.set(key.(string), v.String(), line, column)
			case nil, bool:
			default:
				return wrong("%s holds more than a value", key)
			}
		}
		if _, err := next(); err != nil {
			return err
		}
		m.done(c)
		return nil
	}

	t, err := next()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		err = object()
	case json.Delim('['):
		for d.More() {
			if t, err = next(); err == nil && t != json.Delim('{') {
				err = wrong("%v where an object should be", t)
			}
			if err == nil {
				err = object()
			}
			if err != nil {
				return err
			}
		}
		_, err = next()
	default:
		err = wrong("neither an array nor an object")
	}
	if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return wrong("something after the JSON")
	}
	return nil
}

// readXML takes every segment of every message, whatever they are wrapped in.
func readXML(r io.Reader, c *collector) error {
	d := xml.NewDecoder(r)
	var m *message
	var text strings.Builder
	any := false
	for {
		t, err := d.Token()
		line, column := d.InputPos()
		if err == io.EOF {
			if !any {
				return &ParseError{line, column, "no segment of an OMM"}
			}
			return nil
		}
		if err != nil {
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				return &ParseError{line, column, syntax.Msg}
			}
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			text.Reset()
			if t.Name.Local == "segment" {
				any = true
				m = newMessage(line)
			}
		case xml.CharData:
			if text.Len() < 4096 {
				text.Write(t)
			}
		case xml.EndElement:
			switch name := t.Name.Local; {
			case m == nil:
			case name == "segment":
				m.done(c)
				m = nil
			case name != "COMMENT" && name != "USER_DEFINED" && strings.ToUpper(name) == name:
				m.set(name, text.String(), line, column)
			}
			text.Reset()
		}
	}
}

// readKVN takes messages one after another. Each begins with CCSDS_OMM_VERS; where
// that is left out, with OBJECT_NAME.
func readKVN(r io.Reader, c *collector) error {
	var m *message
	err := lines(r, func(n int, line string) {
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if key == "" && !ok || strings.HasPrefix(key, "COMMENT") {
			return
		}
		column := len(line) - len(strings.TrimLeft(value, " \t")) + 1
		if !ok || key == "" || strings.ContainsAny(key, " \t<{") {
			if m == nil {
				m = newMessage(n)
			}
			if m.err == nil {
				m.err = &ParseError{n, 1, fmt.Sprintf("%.30q where KEY = VALUE should be", line)}
			}
			return
		}
		if m != nil && begins(key, m) {
			m.done(c)
			m = nil
		}
		if m == nil {
			m = newMessage(n)
		}
		if strings.HasSuffix(value, "]") { // a unit
			if i := strings.LastIndexByte(value, '['); i >= 0 {
				value = value[:i]
			}
		}
		if !strings.HasPrefix(key, "USER_DEFINED") {
			m.set(key, value, n, column)
		}
	})
	if m != nil {
		m.done(c)
	}
	return err
}

// begins says whether a keyword is the first of another message.
func begins(key string, m *message) bool {
	if key != "OBJECT_NAME" {
		return key == "CCSDS_OMM_VERS"
	}
	_, named := m.cells[key]
	return named
}

// readCSV takes the keywords from the first line.
func readCSV(r io.Reader, c *collector) error {
	d := csv.NewReader(r)
	d.ReuseRecord = true
	wrong := func(err error) error {
		var p *csv.ParseError
		if errors.As(err, &p) {
			return &ParseError{p.Line, p.Column, p.Err.Error()}
		}
		return err
	}
	record, err := d.Read()
	if err == io.EOF {
		return &ParseError{1, 0, "empty"}
	}
	if err != nil {
		return wrong(err)
	}
	header := make([]string, len(record))
	known := false
	for i, s := range record {
		header[i] = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
		known = known || header[i] == "MEAN_MOTION"
	}
	if !known {
		return &ParseError{1, 0, fmt.Sprintf("%.30q where the keywords of an OMM should be, MEAN_MOTION among them", strings.Join(header, ","))}
	}
	for {
		record, err := d.Read()
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, csv.ErrFieldCount) {
			c.fail(wrong(err))
			continue
		}
		if err != nil {
			return wrong(err)
		}
		line, _ := d.FieldPos(0)
		m := newMessage(line)
		for i, s := range record {
			line, column := d.FieldPos(i)
			m.set(header[i], s, line, column)
		}
		m.done(c)
	}
}
