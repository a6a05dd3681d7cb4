package mirror

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/headway-lab/headway/mirror/name"
	"github.com/headway-lab/headway/wire"
)

// Config says what is to be mirrored, and how. It is read from a file by [Read].
type Config struct {
	List    List              `yaml:"list"`
	Record  RecordConfig      `yaml:"record"`
	Path    string            `yaml:"path"`    // template of a record's file
	Names   string            `yaml:"names"`   // "unix", or "portable"
	Headers map[string]string `yaml:"headers"` // sent with every request
	// User and Password are sent as HTTP has it (Basic).
	User     string `yaml:"user"`
	Password string `yaml:"password"`
	HTTP     HTTP   `yaml:"http"`
	Retry    Retry  `yaml:"retry"`
	// Check says when a file that is there is taken for the record: "presence", "size" or "etag".
	Check string `yaml:"check"`
	// AllowUndelimited takes bodies that end with their connection, of which nobody can say
	// whether they are whole.
	AllowUndelimited bool `yaml:"allow_undelimited"`
	Durable          bool `yaml:"durable"`

	file    string
	secrets []secret        // values that came from the environment
	needles []needle        // all their forms, the longest first
	noLink  bool            // list.link: false was said
	private map[string]bool // headers that are not sent to another origin
	read    parsed
}

// List says where the records are listed.
type List struct {
	URL  string `yaml:"url"`
	File string `yaml:"file"` // records as JSON, one a line
	// Records is a jq expression that yields the records of a page.
	Records string  `yaml:"records"`
	Total   string  `yaml:"total"` // jq: how many records the whole list has
	Page    *Page   `yaml:"page"`
	Cursor  *Cursor `yaml:"cursor"`
	Link    bool    `yaml:"link"` // the Link header with rel="next" leads on
}

// Page is paging by number.
type Page struct {
	Parameter string `yaml:"parameter"`
	Start     int    `yaml:"start"`
	// Step is by how much the number grows: 1 for pages, the size of a page for offsets.
	Step          int    `yaml:"step"`
	Size          int    `yaml:"size"`
	SizeParameter string `yaml:"size_parameter"`
	Last          string `yaml:"last"` // jq: the number of the last page; else an empty one ends the list
	End           int    `yaml:"end"`  // the status behind the last page, where no empty page comes
}

// Cursor is paging by cursor.
type Cursor struct {
	Next      string `yaml:"next"`      // jq: the next cursor, or the URL of the next page
	Parameter string `yaml:"parameter"` // of the cursor; not needed for URLs
}

// RecordConfig says where one record is.
type RecordConfig struct {
	URL  string `yaml:"url"`  // template
	Body string `yaml:"body"` // jq: the record's content, where the list holds it
	ID   string `yaml:"id"`   // template of what makes a record that record; the URL if not given
	Size string `yaml:"size"` // jq: its size in bytes
	// Type is the Content-Type that a record has to have, such as application/pdf.
	Type string `yaml:"type"`
}

// HTTP is what decides how the network is used.
type HTTP struct {
	Workers  int           `yaml:"workers"`
	Idle     int           `yaml:"idle"` // connections kept a host; -1 is as many as workers
	Protocol string        `yaml:"protocol"`
	Dial     time.Duration `yaml:"dial"`
	TLS      time.Duration `yaml:"tls"`
	Request  time.Duration `yaml:"request"` // without a byte
	Longest  time.Duration `yaml:"longest"` // of an exchange
	Rate     float64       `yaml:"rate"`    // requests a second; 0 is no bound
}

// Retry says how often and when a request is sent again.
type Retry struct {
	Attempts int           `yaml:"attempts"`
	First    time.Duration `yaml:"first"`  // the longest first wait; it doubles
	Most     time.Duration `yaml:"most"`   // the longest wait, Retry-After included
	Budget   float64       `yaml:"budget"` // retries as a share of the requests
	GiveUp   int           `yaml:"give_up"`
}

// Defaults are those of the published study of 2017 where it has any: 30 s to connect, 30 s for
// TLS, 10 s a request, as many idle connections as are used.
func defaults() Config {
	return Config{
		Names: "unix",
		HTTP: HTTP{Workers: 16, Idle: -1, Protocol: "auto",
			Dial: 30 * time.Second, TLS: 30 * time.Second, Request: 10 * time.Second, Longest: 10 * time.Minute},
		Retry: Retry{Attempts: 5, First: 200 * time.Millisecond, Most: time.Minute, Budget: 0.2, GiveUp: 100},
		Check: "presence",
	}
}

// A ConfigError is a fault of a file, which its author has to mend.
type ConfigError struct {
	File string
	Line int // 0 if none
	Err  error
}

func (e *ConfigError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}
func (e *ConfigError) Unwrap() error { return e.Err }

// Read reads a file. Faults of it are of type *ConfigError, the first one only. getenv is
// os.LookupEnv, or what stands for it in a test.
func Read(file string, getenv func(string) (string, bool)) (*Config, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, &ConfigError{File: file, Err: fmt.Errorf("it cannot be read: %w", err)}
	}
	return Parse(file, src, getenv)
}

// Parse reads what a file of that name holds.
func Parse(file string, src []byte, getenv func(string) (string, bool)) (*Config, error) {
	c := defaults()
	c.file = file
	lines, err := decode(file, src, &c)
	if err != nil {
		return nil, err
	}
	p := parser{c: &c, lines: lines, getenv: getenv}
	if err := p.all(); err != nil {
		return nil, &ConfigError{File: file, Line: p.line, Err: err}
	}
	return &c, nil
}

// parsed is what the texts of a config mean.
type parsed struct {
	path, id, url  *name.Template
	body, size     *query
	records, total *query
	next, last     *query
	listURL        *url.URL
	header         http.Header
	style          name.Style
	protocol       wire.Protocol
	determined     bool // the path alone tells the id
}

// parser checks fields and remembers the line of the one that it is at.
type parser struct {
	c      *Config
	lines  map[string]int
	getenv func(string) (string, bool)
	line   int
}

func (p *parser) at(field string) {
	p.line = 0
	for f := field; ; {
		if n := p.lines[f]; n > 0 {
			p.line = n
			return
		}
		i := strings.LastIndexByte(f, '.')
		if i < 0 {
			return
		}
		f = f[:i]
	}
}

func (p *parser) all() error {
	for _, step := range []func() error{p.list, p.record, p.credentials, p.http, p.retry, p.other} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// braceless finds what was meant to be a variable: a whole word, or the whole of a parameter.
var braceless = regexp.MustCompile(`(?:^|[ =])(\$[A-Z_][A-Z0-9_]*)(?:$|[ &])`)

// unnamed takes the braces from ${NAME}, which a template would take for a field.
var unnamed = regexp.MustCompile(`\$\{([^}]*)\}`)

// environment puts values in the place of ${NAME}.
func (p *parser) environment(field, s string, quote bool) (string, bool, error) {
	p.at(field)
	if v := braceless.FindStringSubmatch(s); v != nil {
		return "", false, fmt.Errorf("%s: %s would be sent as it stands; write ${%s} for the variable of the environment", field, strings.TrimSpace(v[1]), v[1][1:])
	}
	var b strings.Builder
	from := false
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), from, nil
		}
		n := strings.IndexByte(s[i:], '}')
		if n < 0 {
			return "", false, fmt.Errorf("%s: a ${ without its }", field)
		}
		variable := s[i+2 : i+n]
		value, ok := p.getenv(variable)
		if !ok {
			return "", false, fmt.Errorf("%s: the environment has no variable %s; set it: %s=... headway mirror CONFIG", field, variable, variable)
		}
		if value == "" {
			return "", false, fmt.Errorf("%s: the variable %s of the environment is empty", field, variable)
		}
		from = true
		p.c.learn(variable, value)
		b.WriteString(s[:i])
		if quote { // what follows is a template
			value = strings.NewReplacer("{", "{{", "}", "}}").Replace(value)
		}
		b.WriteString(value)
		s = s[i+n+1:]
	}
}

func (p *parser) list() error {
	l, r := &p.c.List, &p.c.read
	p.at("list")
	switch {
	case l.URL == "" && l.File == "":
		return errors.New("list: want url or file, for where the records are listed")
	case l.URL != "" && l.File != "":
		return errors.New("list: want url or file, not both")
	}
	ways := 0
	for _, way := range []bool{l.Page != nil, l.Cursor != nil, l.Link} {
		if way {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("list: want one of page, cursor and link")
	}
	p.c.noLink = p.lines["list.link"] > 0 && !l.Link
	if l.File != "" {
		if ways > 0 {
			return errors.New("list: a file has no pages")
		}
		p.at("list.file")
		if !filepath.IsAbs(l.File) {
			l.File = filepath.Join(filepath.Dir(p.c.file), l.File)
		}
		if l.Records == "" {
			l.Records = "."
		}
	} else {
		s, _, err := p.environment("list.url", l.URL, false)
		if err != nil {
			return err
		}
		if r.listURL, err = wire.ParseURL(s); err != nil {
			return address("list.url", s, err)
		}
		if l.Records == "" {
			return errors.New("list.records: want a jq expression that yields the records of a page, such as .records[]")
		}
	}
	var err error
	if r.records, err = p.query("list.records", l.Records); err != nil {
		return err
	}
	if r.total, err = p.query("list.total", l.Total); err != nil {
		return err
	}
	if g := l.Page; g != nil {
		p.at("list.page")
		if g.Parameter == "" {
			return errors.New("list.page.parameter: want the name of the parameter that holds the number, such as page")
		}
		if n := strings.ToLower(g.Parameter); (n == "offset" || n == "skip") && (p.lines["list.page.start"] == 0 || p.lines["list.page.step"] == 0) {
			return fmt.Errorf("list.page: %s counts records, so say where it starts and by how much it grows: start: 0, and as step the number of records of a page", g.Parameter)
		}
		if p.lines["list.page.start"] == 0 {
			g.Start = 1
		}
		if g.Step == 0 {
			g.Step = 1
		}
		if g.Step < 1 || g.Start < 0 || g.Size < 0 {
			return errors.New("list.page: start, step and size cannot be negative")
		}
		if g.End != 0 && (g.End < 400 || g.End > 499) {
			return errors.New("list.page.end: want the status that the server answers behind the last page, such as 404")
		}
		if (g.Size > 0) != (g.SizeParameter != "") {
			return errors.New("list.page: size and size_parameter go together")
		}
		if r.last, err = p.query("list.page.last", g.Last); err != nil {
			return err
		}
	}
	if g := l.Cursor; g != nil {
		p.at("list.cursor")
		if g.Next == "" {
			return errors.New("list.cursor.next: want a jq expression that yields the next cursor, such as .next")
		}
		if r.next, err = p.query("list.cursor.next", g.Next); err != nil {
			return err
		}
	}
	return nil
}

// address explains why a text is no URL.
func address(field, s string, err error) error {
	if !strings.Contains(s, "://") {
		return fmt.Errorf("%s: want http:// or https:// in front", field)
	}
	return fmt.Errorf("%s: %w", field, err)
}

func (p *parser) query(field, s string) (*query, error) {
	if s == "" {
		return nil, nil
	}
	p.at(field)
	q, err := newQuery(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return q, nil
}

func (p *parser) template(field, s string) (*name.Template, error) {
	p.at(field)
	t, err := name.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return t, nil
}

func (p *parser) record() (err error) {
	c, r := &p.c.Record, &p.c.read
	p.at("record")
	switch {
	case c.URL == "" && c.Body == "":
		return errors.New("record: want url, or body where the list holds the records whole")
	case c.URL != "" && c.Body != "":
		return errors.New("record: want url or body, not both")
	}
	if c.URL != "" {
		s, _, err := p.environment("record.url", c.URL, true)
		if err != nil {
			return err
		}
		if r.url, err = p.template("record.url", s); err != nil {
			return err
		}
		literal := r.url.Literal()
		u, err := wire.ParseURL(literal)
		if err != nil {
			return address("record.url", literal, err)
		}
		if rest := strings.TrimPrefix(literal, u.Scheme+"://"); !strings.ContainsAny(rest, "/?") {
			return errors.New("record.url: want scheme, host and a slash before the first placeholder, so that no record decides where credentials go")
		}
		if len(r.url.Fields()) == 0 {
			return errors.New("record.url: it has no placeholder such as {id}: all records would be one")
		}
	}
	if r.body, err = p.query("record.body", c.Body); err != nil {
		return err
	}
	if r.size, err = p.query("record.size", c.Size); err != nil {
		return err
	}
	if p.at("path"); p.c.Path == "" {
		return errors.New("path: want a template such as files/{created:2006/01/02}/{id}.txt")
	}
	if r.path, err = p.template("path", p.c.Path); err != nil {
		return err
	}
	if err := r.path.Check(); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	switch {
	case c.ID != "":
		if r.id, err = p.template("record.id", c.ID); err != nil {
			return err
		}
	case r.url != nil && strings.Contains(c.URL, "${"):
		// A record stays the same when the value of the environment is another.
		if r.id, err = p.template("record.url", unnamed.ReplaceAllString(c.URL, "$$1")); err != nil {
			return err
		}
	case r.url != nil:
		r.id = r.url
	default:
		r.id = r.path
	}
	r.determined = r.id != r.path && r.path.Determines(r.id)
	return nil
}

func (p *parser) credentials() error {
	c, r := p.c, &p.c.read
	r.header = http.Header{}
	c.private = map[string]bool{"Authorization": true, "Cookie": true, "Proxy-Authorization": true}
	for k, v := range c.Headers {
		field := "headers." + k
		v, secret, err := p.environment(field, v, false)
		if err != nil {
			return err
		}
		k = http.CanonicalHeaderKey(k)
		if secret {
			c.private[k] = true
		}
		if k == "Accept-Encoding" {
			return errors.New("headers: Accept-Encoding would make the server send something else than the record")
		}
		if k == "Host" || k == "Range" || k == "If-None-Match" {
			return fmt.Errorf("headers: %s is not for the config to say", k)
		}
		r.header.Set(k, v)
	}
	user, _, err := p.environment("user", c.User, false)
	if err != nil {
		return err
	}
	password, _, err := p.environment("password", c.Password, false)
	if err != nil {
		return err
	}
	if user != "" || password != "" {
		q := http.Request{Header: http.Header{}}
		q.SetBasicAuth(user, password)
		r.header.Set("Authorization", q.Header.Get("Authorization"))
	}
	p.at("headers")
	target := "http://localhost/"
	if _, err := wire.NewRequest("", target, r.header, nil); err != nil {
		return fmt.Errorf("headers: %w", err)
	}
	return nil
}

func (p *parser) http() error {
	h := &p.c.HTTP
	check := func(field string, ok bool, want string) error {
		if p.at("http." + field); !ok {
			return fmt.Errorf("http.%s: want %s", field, want)
		}
		return nil
	}
	var known bool
	p.c.read.protocol, known = protocols[h.Protocol]
	return errors.Join(firstOf(
		check("workers", h.Workers >= 1 && h.Workers <= 10_000, "1 to 10000"),
		check("idle", h.Idle >= -1, "a number of connections, or -1 for as many as workers"),
		check("protocol", known, "auto, h1 or h2"),
		check("dial", h.Dial >= 0, "a time, or 0 for no bound"),
		check("tls", h.TLS >= 0, "a time, or 0 for no bound"),
		check("request", h.Request >= 0, "a time, or 0 for no bound"),
		check("longest", h.Longest >= 0, "a time, or 0 for no bound"),
		check("rate", h.Rate >= 0, "requests a second, or 0 for no bound"),
	))
}

var protocols = map[string]wire.Protocol{"auto": wire.Auto, "h1": wire.HTTP1, "h2": wire.HTTP2}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) retry() error {
	r := &p.c.Retry
	p.at("retry")
	switch {
	case r.Attempts < 1 || r.Attempts > 100:
		return errors.New("retry.attempts: want 1 to 100")
	case r.First < 0 || r.Most < r.First:
		return errors.New("retry: want first <= most")
	case r.Budget < 0 || r.Budget > 100:
		return errors.New("retry.budget: want a share, such as 0.2")
	case r.GiveUp < 1:
		return errors.New("retry.give_up: want 1 or more")
	}
	return nil
}

func (p *parser) other() error {
	c := p.c
	switch p.at("names"); c.Names {
	case "unix":
	case "portable":
		c.read.style = name.Portable
	default:
		return fmt.Errorf("names: want unix or portable, not %q", c.Names)
	}
	switch p.at("check"); c.Check {
	case "presence":
	case "size", "etag":
		if c.read.url == nil && c.Check == "etag" {
			return errors.New("check: records that the list holds have no ETag")
		}
	default:
		return fmt.Errorf("check: want presence, size or etag, not %q", c.Check)
	}
	return nil
}

// Validate checks what was changed since it was read, such as by flags.
func (c *Config) Validate() error {
	p := parser{c: c, lines: map[string]int{}}
	return firstOf(p.http(), p.retry(), p.other())
}

// identity is what a journal has to agree with: other records, or other places, are another mirror. Where
// only the list is another, it is read from its beginning.
func (c *Config) identity() string {
	id := c.Record.ID
	if id == "" {
		id = c.Record.URL
	}
	return strings.Join([]string{
		"list " + c.List.URL + c.List.File, "records " + c.List.Records, "record " + c.Record.URL + c.Record.Body, "id " + id, "path " + c.Path, "names " + c.Names,
		"paging " + c.List.paging(),
	}, "\n")
}

// paging is how the list goes on, in the words of the first version of the journal.
func (l *List) paging() string {
	page, cursor := "none", "none"
	if g := l.Page; g != nil {
		page = fmt.Sprintf("{Parameter:%s Start:%d Step:%d Size:%d SizeParameter:%s Last:%s}", g.Parameter, g.Start, g.Step, g.Size, g.SizeParameter, g.Last)
	}
	if g := l.Cursor; g != nil {
		cursor = fmt.Sprintf("{Next:%s Parameter:%s}", g.Next, g.Parameter)
	}
	return fmt.Sprintf("%s %s %v", page, cursor, l.Link)
}

// idle returns how many idle connections are kept.
func (c *Config) idle() int {
	if c.HTTP.Idle < 0 {
		return c.HTTP.Workers
	}
	return c.HTTP.Idle
}
