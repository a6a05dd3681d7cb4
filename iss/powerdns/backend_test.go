package powerdns

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask makes a call over HTTP and gives the result as JSON.
func ask(b *Backend, method, target, body string) (string, int) {
	r := httptest.NewRequest(method, "http://x.test/", strings.NewReader(body))
	r.URL, _ = url.Parse("http://x.test" + target)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return strings.TrimSpace(w.Body.String()), w.Code
}

func TestCalls(t *testing.T) {
	b := New(freshZone(t), nil)
	for _, c := range []struct{ method, target, body, want string }{
		{"GET", "/dns/lookup/ns.sky.example./A", "", `{"result":[{"qtype":"A","qname":"ns.sky.example.","content":"192.0.2.1","ttl":3600,"auth":1,"domain_id":1}]}`},
		{"GET", "/dns/lookup/NS.sky%2eexample./A", "", `{"result":[{"qtype":"A","qname":"NS.sky.example.","content":"192.0.2.1","ttl":3600,"auth":1,"domain_id":1}]}`},
		{"GET", "/dns/lookup/./SOA", "", `{"result":[]}`},
		{"GET", "/dns/lookup/nobody.sky.example./ANY", "", `{"result":[]}`},
		{"GET", "/dns/lookup/example.org./ANY", "", `{"result":[]}`},
		{"GET", "/dns/lookup/iss.sky.example./WHAT", "", `{"result":[]}`},
		{"GET", "/dns/lookup/deep.sky.example./ANY", "", `{"result":[{"qtype":"","qname":"deep.sky.example.","content":"","ttl":60,"auth":1,"domain_id":1}]}`},
		{"GET", "/dns/getDomainInfo/example.org.", "", `{"result":false}`},
		{"GET", "/dns/getDomainMetadata/sky.example./PRESIGNED", "", `{"result":[]}`},
		{"GET", "/dns/getAllDomainMetadata/sky.example.", "", `{"result":{}}`},
		{"GET", "/dns/getDomainKeys/sky.example.", "", `{"result":[]}`},
		{"GET", "/dns/getUpdatedMasters", "", `{"result":[]}`},
		{"GET", "/dns/list/sky.example.", "", `{"result":false}`},
		{"PUT", "/dns/addDomainKey/sky.example.", "flags=257&active=1&content=x", `{"result":false,"log":["iss was not started with DNSSEC"]}`},
		{"POST", "/dns/lookup", "parameters=" + url.QueryEscape(`{"qname":"ns.sky.example.","qtype":"AAAA","zone-id":"-1"}`), `{"result":[{"qtype":"AAAA","qname":"ns.sky.example.","content":"2001:db8::1","ttl":3600,"auth":1,"domain_id":1}]}`},
		{"POST", "/dns", `{"method":"lookup","parameters":{"qname":"ns.sky.example.","qtype":"AAAA"}}`, `{"result":[{"qtype":"AAAA","qname":"ns.sky.example.","content":"2001:db8::1","ttl":3600,"auth":1,"domain_id":1}]}`},
		{"POST", "/dns/", `{"method":"initialize","parameters":{"path":"x","timeout":2000}}`, `{"result":true}`},
	} {
		if got, code := ask(b, c.method, c.target, c.body); got != c.want || code != 200 {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.target, code, got, c.want)
		}
	}
	for _, target := range []string{"/dns/getAllDomains?includeDisabled=true", "/dns/getDomainInfo/SKY.example."} {
		if got, _ := ask(b, "GET", target, ""); !strings.Contains(got, `"zone":"sky.example.","kind":"native","serial":`) {
			t.Errorf("%s: %s", target, got)
		}
	}
	if got, _ := ask(b, "GET", "/dns/lookup/iss.sky.example./ANY", ""); !strings.Contains(got, `"qtype":"LOC"`) || !strings.Contains(got, `"qtype":"TXT"`) || !strings.Contains(got, `\"object=ISS (ZARYA)\"`) {
		t.Errorf("ANY: %s", got)
	}
	for _, c := range []struct{ method, target, body string }{
		{"GET", "/", ""}, {"GET", "/dnsx/lookup/a/ANY", ""}, {"GET", "/dns/lookup/a", ""}, {"GET", "/dns", ""},
		{"POST", "/dns", "{"}, {"POST", "/dns", `{"parameters":{}}`}, {"POST", "/dns/lookup", "parameters={"},
		{"DELETE", "/dns/removeDomainKey/a/b", ""}, {"POST", "/dns", `{"method":"x","parameters":{"id":"y"}}`},
		{"POST", "/dns", `{"method":"` + strings.Repeat("x", maxCall) + `"}`},
	} {
		if got, code := ask(b, c.method, c.target, c.body); code != http.StatusBadRequest {
			t.Errorf("%s %s: %d %s", c.method, c.target, code, got)
		}
	}
	if l, o := b.Lookups(); l == 0 || o == 0 {
		t.Errorf("%d lookups, %d others", l, o)
	}
}

func TestUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := ListenUnix(path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second one: %v", err)
	}
	done := make(chan error)
	go func() { done <- New(freshZone(t), nil).ServeUnix(l) }()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	io.WriteString(c, `{"method":"initialize","parameters":{"path":"/x"}}`+"\n\n"+`{"method":"lookup","parameters":{"qname":"ns.sky.example.","qtype":"A"}}`+"\n")
	for _, want := range []string{`{"result":true}`, `{"result":[{"qtype":"A"`} {
		if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, want) {
			t.Errorf("%q, %v; want %s", line, err, want)
		}
	}
	io.WriteString(c, "GET / HTTP/1.1\n")
	if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), `"result":false`) {
		t.Errorf("no call: %q, %v", rest, err)
	}
	idle, err := net.Dial("unix", path) // one that says nothing does not hold up the end
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(path); err == nil {
		t.Error("a file is taken for a socket")
	}
	if _, err := ListenUnix("/" + strings.Repeat("x", 200)); err == nil {
		t.Error("a long path is taken")
	}
}

// A socket that a process which died has left is taken over.
func TestUnixLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	again, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestKeysFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	k, err := OpenKeys(path, "Sky.Example")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read private keys: %v, %v", info.Mode(), err)
	}
	if ds := k.DS(); len(ds) != 1 || !strings.HasPrefix(ds[0], "sky.example. 3600 IN DS ") {
		t.Errorf("DS %v", ds)
	}
	if _, err := OpenKeys(path, "other.example."); err == nil || !strings.Contains(err.Error(), "is for the zone sky.example.") {
		t.Errorf("another zone's: %v", err)
	}
	if r := k.kept.Keys[0]; r.Flags != 257 || !r.Active {
		t.Errorf("%+v", r)
	}
	// What cannot be saved is not changed.
	k.path = filepath.Join(path, "no", "such")
	if _, err := k.change(request{Method: "removeDomainKey", Parameters: parameters{ID: 1}}); err == nil || len(k.list()) != 1 {
		t.Errorf("%v, %v", err, k.list())
	}
	for _, p := range []parameters{{Key: newKey{Content: "x"}}, {Key: newKey{Content: "Algorithm: 8 (RSASHA256)\nPrivateKey: AAAA\n"}}, {Key: newKey{Content: "Algorithm: 15 (ED25519)\nPrivateKey: AAAA\n"}}} {
		if _, err := k.change(request{Method: "addDomainKey", Parameters: p}); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
	if _, err := k.change(request{Method: "removeDomainKey", Parameters: parameters{ID: 9}}); err == nil {
		t.Error("a key that is not there")
	}
	for _, text := range []string{"", "{", `{"zone":"sky.example.","keys":[{"id":1,"content":"x"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKeys(path, "sky.example."); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := OpenKeys(filepath.Join(path, "x"), "sky.example."); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is a file: %v", err)
	}
}

// Whatever PowerDNS, or somebody in its place, sends.
func FuzzCall(f *testing.F) {
	for _, s := range []string{`{"method":"lookup","parameters":{"qname":"iss.sky.example.","qtype":"ANY"}}`, `{"method":"setDomainMetadata","parameters":{"name":"sky.example.","value":[""]}}`, "{"} {
		f.Add(s, "/dns/lookup/iss.sky.example./ANY")
	}
	b := New(freshZone(f), nil)
	f.Fuzz(func(t *testing.T, body, target string) {
		if u, err := url.Parse("http://x.test" + target); err != nil || u.Host != "x.test" {
			t.Skip()
		}
		for _, method := range []string{"GET", "POST"} {
			got, code := ask(b, method, target, body)
			if code == 200 && !json.Valid([]byte(got)) {
				t.Errorf("%s", got)
			}
		}
		var r request
		if json.Unmarshal([]byte(body), &r) == nil {
			b.do(r)
		}
	})
}
