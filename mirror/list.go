package mirror

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/headway-lab/headway/mirror/journal"
	"github.com/headway-lab/headway/wire"
)

// MaxPage is how long a page of a list may be, in bytes.
const MaxPage = 64 << 20

// batch is how many lines of a file make a page.
const batch = 1000

// lister reads a list page by page, from any position it has given before.
type lister struct {
	f      *fetcher
	c      *Config
	at     string // the position of the next page; "" is the beginning
	end    bool
	pages  int
	total  int64 // that the list says it has, as of the last page, -1 if it does not
	first  int64 // as of the first one
	shown  int64 // records of all pages before
	most   int   // records of the largest page, and
	full   int   // how many pages had as many
	linked bool  // the page has a rel="next", and nothing follows it
	buf    []byte

	last      uint64          // hash of the page before, 0 if there is none
	been      map[uint64]bool // hashes of positions
	file      *os.File
	lines     *bufio.Reader
	off       int64
	line      int64 // lines before off
	documents int64 // that a file had
}

func newLister(f *fetcher, c *Config, position string) *lister {
	return &lister{f: f, c: c, at: position, total: -1, first: -1, been: map[uint64]bool{}}
}

// A ListError ends a run: without the list nothing is known.
type ListError struct {
	Where string
	Err   error
}

func (e *ListError) Error() string { return fmt.Sprintf("the list, %s: %v", e.Where, e.Err) }
func (e *ListError) Unwrap() error { return e.Err }

// next returns the records of the next page. After it, at is the position behind the page, and end
// says whether it was the last one.
func (l *lister) next(ctx context.Context) ([]any, error) {
	h := hash('l', []byte(l.at))
	if l.been[h] {
		return nil, &ListError{l.where(), &answerError{errors.New("the server sends in circles: this page was there before")}}
	}
	l.been[h] = true
	if l.c.List.File != "" {
		return l.fromFile(ctx)
	}
	where := l.where()
	target, err := l.target()
	if err != nil {
		return nil, &ListError{where, err}
	}
	header := l.c.read.header
	if origin(target) != origin(l.c.read.listURL) {
		header = l.f.public(header)
	}
	r, err := wire.NewRequest("", target.String(), header, nil)
	if err != nil {
		return nil, &ListError{where, err}
	}
	var link []string
	err = l.f.retry(ctx, func() error {
		x, err := l.f.do(ctx, r, l.f.gate(r.URL), l.f.t)
		if err != nil {
			return err
		}
		defer x.Close()
		link = append([]string(nil), x.Values("Link")...)
		l.buf, err = readAll(x, l.buf[:0], MaxPage)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var s *StatusError
		behind := l.pages > 0 && l.c.List.Page != nil && errors.As(err, &s) && !again(s.Status)
		switch {
		case behind && (s.Status == l.c.List.Page.End || s.Status == http.StatusNotFound && l.total >= 0 && l.shown >= l.total):
			l.end = true // it says in this way that there are no more pages
			return nil, nil
		case behind && s.Status != 401 && s.Status != 403:
			err = fmt.Errorf("%w; if that is how this server says that there are no more pages, say list.page.end: %d, or which is the last one with list.page.last", err, s.Status)
		case errors.As(err, &s) && s.Status == 401:
			err = fmt.Errorf("%w: the server does not take the credentials; see headers, user and password in the config", err)
		case errors.As(err, &s) && s.Status == 403:
			err = fmt.Errorf("%w: the server does not let these credentials see it; see headers, user and password in the config", err)
		}
		return nil, &ListError{where, err}
	}
	records, err := l.read(ctx, link, target)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &ListError{where, &answerError{err}}
	}
	return records, nil
}

// read finds the records of a page that has come, and what follows it.
func (l *lister) read(ctx context.Context, link []string, target *url.URL) ([]any, error) {
	var doc any
	d := json.NewDecoder(bytes.NewReader(l.buf))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows its JSON")
	}
	records, err := l.records(ctx, doc)
	if err != nil {
		return nil, err
	}
	if err := l.advance(ctx, doc, len(records), link, target); err != nil {
		return nil, err
	}
	l.count(len(records))
	return records, nil
}

func (l *lister) count(records int) {
	l.pages++
	l.shown += int64(records)
	switch {
	case records > l.most:
		l.most, l.full = records, 1
	case records == l.most:
		l.full++
	}
}

func (l *lister) records(ctx context.Context, doc any) ([]any, error) {
	var records []any
	err := l.c.read.records.all(ctx, doc, func(v any) error {
		records = append(records, v)
		return nil
	})
	if err == nil && l.c.read.total != nil {
		var v any
		if v, err = l.c.read.total.one(ctx, doc); err == nil {
			if n, ok := number(v); ok {
				l.total = n
				if l.first < 0 {
					l.first = n
				}
			}
		}
	}
	return records, err
}

// number reads a whole number as JSON and jq have it, or as a text.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	case int:
		return int64(v), true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return 0, false
}

func (l *lister) where() string {
	switch {
	case l.c.List.File != "":
		return l.c.List.File
	case l.c.List.Page != nil:
		if l.at == "" {
			return fmt.Sprintf("%s %d", l.c.List.Page.Parameter, l.c.List.Page.Start)
		}
		return l.c.List.Page.Parameter + " " + l.at
	case l.at == "":
		return "first page"
	}
	return fmt.Sprintf("page at %.200s", l.c.redact(l.at))
}

// target is where the next page is.
func (l *lister) target() (*url.URL, error) {
	base := *l.c.read.listURL
	set := func(name, value string) {
		q := base.Query()
		q.Set(name, value)
		base.RawQuery = q.Encode()
	}
	if g := l.c.List.Page; g != nil {
		n := l.at
		if n == "" {
			n = strconv.Itoa(g.Start)
		}
		set(g.Parameter, n)
		if g.Size > 0 {
			set(g.SizeParameter, strconv.Itoa(g.Size))
		}
		return &base, nil
	}
	if l.at == "" {
		return &base, nil
	}
	if g := l.c.List.Cursor; g != nil && g.Parameter != "" && !isURL(l.at) {
		set(g.Parameter, l.at)
		return &base, nil
	}
	return base.Parse(l.at)
}

func isURL(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

// advance finds the position behind a page.
func (l *lister) advance(ctx context.Context, doc any, records int, link []string, target *url.URL) error {
	switch c := l.c.List; {
	case c.Page != nil:
		n := int64(c.Page.Start)
		if l.at != "" {
			var err error
			if n, err = strconv.ParseInt(l.at, 10, 64); err != nil {
				return fmt.Errorf("position %q is no number", l.at)
			}
		}
		if records == 0 {
			l.end = true
			break
		}
		if l.c.read.last != nil {
			v, err := l.c.read.last.one(ctx, doc)
			if err != nil {
				return err
			}
			last, ok := number(v)
			if !ok {
				return fmt.Errorf("list.page.last, %s, is no number: %.80v", c.Page.Last, v)
			}
			l.end = n >= last
		}
		h := hash('b', l.buf)
		if h == l.last && !l.end {
			return fmt.Errorf("the page is the same as the one before: is %s the right parameter? Where the server sends the last page again and again, say which it is with list.page.last", c.Page.Parameter)
		}
		l.last = h
		l.at = strconv.FormatInt(n+int64(c.Page.Step), 10)
	case c.Cursor != nil:
		v, err := l.c.read.next.one(ctx, doc)
		if err != nil {
			return err
		}
		next := ""
		switch v := v.(type) {
		case nil:
		case string:
			next = v
		case json.Number:
			next = v.String()
		case bool:
			if v {
				return fmt.Errorf("list.cursor.next, %s, is true: want the cursor", c.Cursor.Next)
			}
		case int, float64:
			next = fmt.Sprint(v)
		default:
			return fmt.Errorf("list.cursor.next, %s, is neither a text nor a number", c.Cursor.Next)
		}
		if len(next) > journal.MaxBlock/2 {
			return errors.New("the cursor is longer than half a megabyte")
		}
		if l.at, l.end = next, next == ""; !l.end && c.Cursor.Parameter == "" {
			return l.follow(next, target)
		}
	case c.Link:
		next := nextLink(link)
		if l.at, l.end = next, next == ""; !l.end {
			return l.follow(next, target)
		}
	default:
		l.end, l.linked = true, nextLink(link) != ""
	}
	return nil
}

// follow makes a link to the next page whole. From https it does not lead to http.
func (l *lister) follow(next string, target *url.URL) error {
	u, err := target.Parse(next)
	if err != nil {
		return fmt.Errorf("the next page: %w", err)
	}
	if target.Scheme == "https" && u.Scheme != "https" {
		return fmt.Errorf("the next page is at %.200s, without TLS", l.c.redact(u.String()))
	}
	l.at = u.String()
	return nil
}

// nextLink finds the target of rel="next" in Link headers (RFC 8288).
func nextLink(headers []string) string {
	for _, h := range headers {
		for {
			i := strings.IndexByte(h, '<')
			if i < 0 {
				break
			}
			n := strings.IndexByte(h[i:], '>')
			if n < 0 {
				break
			}
			target := h[i+1 : i+n]
			h = h[i+n+1:]
			parameters := h
			if j := unquoted(h, ','); j >= 0 {
				parameters, h = h[:j], h[j+1:]
			} else {
				h = ""
			}
			for parameters != "" {
				p := parameters
				if j := unquoted(p, ';'); j >= 0 {
					p, parameters = p[:j], p[j+1:]
				} else {
					parameters = ""
				}
				k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
				if !strings.EqualFold(strings.TrimSpace(k), "rel") {
					continue
				}
				for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(v), `"`)) {
					if strings.EqualFold(rel, "next") {
						return target
					}
				}
			}
		}
	}
	return ""
}

// unquoted finds a character outside of quoted strings.
func unquoted(s string, c byte) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == c && !quoted:
			return i
		}
	}
	return -1
}

// maxLine is how long a record in a file may be, in bytes.
const maxLine = 16 << 20

// fromFile reads a batch of lines. A position is the number of bytes and of lines before it.
func (l *lister) fromFile(ctx context.Context) ([]any, error) {
	name := l.c.List.File
	if l.file == nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, &ListError{"its file", err}
		}
		if l.at != "" {
			if _, err = fmt.Sscanf(l.at, "%d %d", &l.off, &l.line); err == nil {
				_, err = f.Seek(l.off, io.SeekStart)
			}
			if err != nil {
				return nil, errors.Join(&ListError{l.where(), &answerError{err}}, f.Close())
			}
		}
		l.file, l.lines = f, bufio.NewReaderSize(f, 1<<16)
	}
	var records []any
	for range batch {
		line, err := readLine(l.lines, l.buf[:0])
		l.buf = line
		fault := func(err error) error {
			return &ListError{fmt.Sprintf("%s:%d", name, l.line+1), &answerError{err}}
		}
		if err != nil && err != io.EOF {
			return nil, fault(err)
		}
		if l.off == 0 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // a mark of UTF-8
		}
		l.off += int64(len(l.buf))
		if len(bytes.TrimSpace(line)) > 0 {
			var doc any
			d := json.NewDecoder(bytes.NewReader(line))
			d.UseNumber()
			if e := d.Decode(&doc); e != nil {
				return nil, fault(noJSON(line, e))
			}
			if _, e := d.Token(); e != io.EOF {
				return nil, fault(errors.New("something follows the JSON of the line; want one record a line"))
			}
			l.documents++
			more, e := l.records(ctx, doc)
			if e != nil {
				return nil, fault(e)
			}
			records = append(records, more...)
		}
		if err == io.EOF {
			l.end = true
			break
		}
		l.line++
	}
	l.at = fmt.Sprint(l.off, " ", l.line)
	l.count(len(records))
	return records, nil
}

// noJSON says what a line is that is no JSON.
func noJSON(line []byte, err error) error {
	switch text := bytes.TrimSpace(line); {
	case bytes.HasPrefix(line, []byte("\x1f\x8b")):
		return errors.New("it is compressed by gzip: unpack it first (gunzip)")
	case bytes.HasPrefix(line, []byte("\xff\xfe")), bytes.HasPrefix(line, []byte("\xfe\xff")):
		return errors.New("it is UTF-16: want UTF-8")
	case len(text) == 1 && (text[0] == '[' || text[0] == '{'):
		return errors.New("a record stands on several lines: want one a line, as jq -c '.[]' writes a list")
	}
	return fmt.Errorf("the line is no JSON: %w", err)
}

// readLine appends a line with its end.
func readLine(r *bufio.Reader, b []byte) ([]byte, error) {
	for {
		piece, err := r.ReadSlice('\n')
		b = append(b, piece...)
		if err != bufio.ErrBufferFull {
			return b, err
		}
		if len(b) > maxLine {
			return b, errors.New("a line is longer than 16 MiB")
		}
	}
}

func (l *lister) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// readAll appends a body of at most so many bytes.
func readAll(r io.Reader, b []byte, most int) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) > most {
			return b, &refusal{"size", fmt.Sprintf("it is longer than %d MiB", most>>20)}
		}
	}
}
