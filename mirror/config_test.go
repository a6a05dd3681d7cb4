package mirror

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const good = `list:
  url: http://localhost:1/records
  records: .records[]
record:
  url: http://localhost:1/records/{id}
path: "{id}.txt"
`

func env(name string) (string, bool) {
	v, ok := map[string]string{"TOKEN": "very secret", "HOST": "localhost:1", "BRACE": "{id}", "EMPTY": ""}[name]
	return v, ok
}

func TestDefaultsAreThePublishedAdvice(t *testing.T) {
	c, err := Parse("c.yaml", []byte(good), env)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.HTTP; h.Dial != 30*time.Second || h.TLS != 30*time.Second || h.Request != 10*time.Second || c.idle() != h.Workers {
		t.Errorf("%+v, %d idle", h, c.idle())
	}
}

func TestFaultsOfConfigs(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"path:", "paht:", `c.yaml:6: there is no field paht; did you mean path?`},
		{"  records:", "  recordz:", "c.yaml:3: there is no field list.recordz; did you mean list.records?"},
		{"path:", "http: {workers: many}\npath:", `c.yaml:6: http.workers: want a whole number, not "many"`},
		{"path:", "http: {workers: 0}\npath:", "c.yaml:6: http.workers: want 1 to 10000"},
		{"path:", "http: {request: 10}\npath:", "want a time such as 10s"},
		{"path:", "http: [1]\npath:", "c.yaml:6: http: want fields, not a list"},
		{"path:", "durable: yes\npath:", "want true or false"},
		{"path:", "path: x\npath:", "already defined|there twice"},
		{".records[]", "'.records['", "c.yaml:3: list.records: jq: "},
		{"http://localhost:1/records/{id}", "http://{id}/", "record.url"},
		{"http://localhost:1/records/{id}", "http://localhost:1{id}", "record.url"},
		{"http://localhost:1/records/{id}", "ftp://localhost/{id}", "want http://"},
		{"http://localhost:1/records/{id}", "http://localhost:1/all", "no placeholder"},
		{"{id}.txt", "../{id}.txt", "c.yaml:6: path: .. has no place in a path"},
		{"{id}.txt", "all.txt", "all records would be one file"},
		{"path:", "headers: {A: '${NOPE}'}\npath:", "c.yaml:6: headers.A: the environment has no variable NOPE"},
		{"path:", "headers: {A: '${TOKEN'}\npath:", "a ${ without its }"},
		{"path:", "headers: {'a b': x}\npath:", "not a name that HTTP allows"},
		{"path:", "headers: {Accept-Encoding: gzip}\npath:", "Accept-Encoding"},
		{"path:", "check: sometimes\npath:", "want presence, size or etag"},
		{"path:", "names: dos\npath:", "want unix or portable"},
		{"path:", "retry: {attempts: 0}\npath:", "retry.attempts"},
		{"path:", "headers: {Authorization: Bearer $TOKEN}\npath:", "c.yaml:6: headers.Authorization: $TOKEN would be sent as it stands; write ${TOKEN}"},
		{"/records\n", "/records?key=$TOKEN\n", "write ${TOKEN}"},
		{"path:", "headers: {Authorization: 'Bearer ${EMPTY}'}\npath:", "c.yaml:6: headers.Authorization: the variable EMPTY of the environment is empty"},
		{"http://localhost:1/records\n", "localhost:1/records\n", "c.yaml:2: list.url: want http:// or https:// in front"},
		{"http://localhost:1/records\n", "127.0.0.1:1/records\n", "c.yaml:2: list.url: want http:// or https:// in front"},
		{"http://localhost:1/records/{id}", "127.0.0.1:1/{id}", "c.yaml:5: record.url: want http:// or https:// in front"},
		{good, "path: x\nlist: {url: http://h/p?n=8, records: '.[]'}\n", "c.yaml:2: YAML: did not find expected ',' or '}'; a URL within {...} has to be quoted"},
		{"path:", "x: {url: http://h/{id}}\npath:", "c.yaml:6: YAML: did not find expected ',' or '}'; a URL within {...} has to be quoted"},
		{"  records: .records[]", "  records: .records[]\n  page: {parameter: offset}", "c.yaml:4: list.page: offset counts records"},
		{"  records: .records[]", "  records: .records[]\n  page: {parameter: page, end: 200}", "list.page.end"},
		{"{id}.txt", "{created:yyyy/mm}/{id}.txt", "c.yaml:6: path: "},
		{"path:", "a: &x 1\npath:", "there is no field a"},
		{"path: ", "path: &x ", "anchors"},
		{"  records: .records[]", "  records: .records[]\n  link: true\n  cursor: {next: .n}", "one of page, cursor and link"},
		{"  url: http://localhost:1/records\n", "", "want url or file"},
		{good, "", "empty"},
		{good, "- a\n", "want fields such as"},
		{good, good + "---\n" + good, "one document"},
		{good, "\tx", "YAML"},
	} {
		_, err := Parse("c.yaml", []byte(strings.Replace(good, c.from, c.to, 1)), env)
		var wrong *ConfigError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", c.to, err)
			continue
		}
		found := false
		for w := range strings.SplitSeq(c.want, "|") {
			found = found || strings.Contains(err.Error(), w)
		}
		if !found || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", c.to, err, c.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	src := strings.Replace(good, "http://localhost:1/records/{id}", "http://${HOST}/records/{id}?k=${BRACE}", 1) + "headers: {X: 'a ${TOKEN}', Y: plain}\nuser: u\npassword: ${TOKEN}\n"
	c, err := Parse("c.yaml", []byte(src), env)
	if err != nil {
		t.Fatal(err)
	}
	u, err := c.read.url.Expand(nil, map[string]any{"id": 7})
	if string(u) != "http://localhost:1/records/7?k={id}" || err != nil {
		t.Error(string(u), err)
	}
	if c.read.header.Get("X") != "a very secret" || !c.private["X"] || c.private["Y"] || !c.private["Authorization"] {
		t.Error(c.read.header, c.private)
	}
	if got := c.redact("GET very secret, failed"); strings.Contains(got, "very secret") {
		t.Error(got)
	}
	if strings.Contains(c.identity(), "very secret") {
		t.Error("the journal would hold a secret")
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(good)
	f.Add(strings.ReplaceAll(good, "url:", "file:"))
	f.Add("list: {page: {start: -1}}\nhttp: {rate: .nan}\n")
	f.Fuzz(func(t *testing.T, src string) {
		c, err := Parse("c.yaml", []byte(src), env)
		if err != nil {
			var wrong *ConfigError
			if !errors.As(err, &wrong) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Errorf("taken, and then not: %v", err)
		}
	})
}

func TestNextLink(t *testing.T) {
	for h, want := range map[string]string{
		`<a>; rel=next`:                                          "a",
		`<a>; rel="prev", <b>; rel="next"`:                       "b",
		`<a>; title="x, <y>; rel=next"; rel=prev, <b>; rel=NEXT`: "b",
		`<a>; rel="prev"`:                                        "",
		``:                                                       "",
		`<a`:                                                     "",
	} {
		if got := nextLink([]string{h}); got != want {
			t.Errorf("%s: %q, want %q", h, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for s, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-1": 0, "99999999999999999999": 0, "999999": time.Minute, "soon": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0, "Wed, 21 Oct 2099 07:28:00 GMT": time.Minute} {
		if got := retryAfter(s, time.Minute); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}
