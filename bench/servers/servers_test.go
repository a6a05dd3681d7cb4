package main

import (
	"bufio"
	"bytes"
	"go/parser"
	"go/token"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is measured starts this program again, with an argument: the tests must not begin anew there.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"x":                       "unexpected argument",
		"-server (":               "-server",
		"-site (":                 "-site",
		"-server nothing":         "no site matches",
		"-speedups 30":            "in quarters",
		"-procs 0":                "-procs",
		"-starts 3":               "-starts",
		"-rounds 4 -starts 5":     "-starts",
		"-runs 0":                 "-runs",
		"-window 0s":              "-window",
		"-duration -1s":           "-duration",
		"-server nats -site gzip": "no site matches",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d, %q, want 2 and %q", args, code, &stderr, want)
		}
	}
}

// What is added to a server is Go, has the site in it, and leaves out whole times of its work.
func TestSites(t *testing.T) {
	for _, s := range servers {
		for _, site := range s.Sites {
			f, err := parser.ParseFile(token.NewFileSet(), site.Env, "package p\n"+site.Code, 0)
			if err != nil {
				t.Errorf("%s: %v", site.Name, err)
				continue
			}
			name := site.Func[strings.LastIndex(site.Func, ".")+1:]
			found := false
			for _, d := range f.Decls {
				found = found || strings.Contains(site.Code[d.Pos()-11:d.End()-11], " "+name+"(")
			}
			if !found || !strings.Contains(site.Code, `os.Getenv("`+site.Env+`")`) {
				t.Errorf("%s: its code has no %s, or does not ask for %s", site.Name, name, site.Env)
			}
			if site.Times%4 != 0 {
				t.Errorf("%s: %d times have no quarter", site.Name, site.Times)
			}
			if !strings.HasSuffix(site.Name, "."+name) || len(site.Patch) == 0 {
				t.Errorf("%s: its function is %s, and %d edits call it", site.Name, site.Func, len(site.Patch))
			}
		}
	}
}

func TestEdit(t *testing.T) {
	site := Site{In: "a/b", Env: "AGAIN_X", Patch: [][3]string{{"f.go", "work()", "again()"}}, Code: "func again() { work() }\n"}
	for text, want := range map[string]string{
		"package b\nfunc f() { work() }\n":         "",
		"package b\nfunc f() { work(); work() }\n": "2 times, want once",
		"package b\n": "0 times, want once",
	} {
		dir := t.TempDir()
		in := filepath.Join(dir, "a", "b")
		if err := os.MkdirAll(in, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, "f.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := site.edit(dir)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
			continue
		}
		edited, _ := os.ReadFile(filepath.Join(in, "f.go"))
		added, _ := os.ReadFile(filepath.Join(in, "again_x.go"))
		if err != nil || string(edited) != "package b\nfunc f() { again() }\n" || string(added) != "package b\nfunc again() { work() }\n" {
			t.Errorf("%v: %s%s", err, edited, added)
		}
	}
}

// A change leaves out a part of one site's work, and the server as it is has all of it.
func TestEnv(t *testing.T) {
	h := &host{Server: Server{Args: []string{"-p", "$PORT"}, Sites: []Site{{Env: "X", Times: 8}, {Env: "Y", Times: 4}}}, o: options{procs: 1}}
	for c, want := range map[change]string{asItIs: "X=8 Y=4", {0, 75}: "X=2 Y=4", {1, 25}: "X=8 Y=3"} {
		env, args, err := h.env(c)
		if got := strings.Join(env[len(env)-2:], " "); err != nil || got != want {
			t.Errorf("%+v: %s, %v, want %s", c, got, err, want)
		}
		if len(args) != 2 || args[1] == "$PORT" {
			t.Errorf("%q", args)
		}
	}
}

// The publishers send whole batches and wait for the answer to each.
func TestPublish(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	messages := make(chan int, publishers+1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				n := 0
				for r := bufio.NewScanner(c); r.Scan(); {
					switch {
					case strings.HasPrefix(r.Text(), "PUB "):
						n++
					case strings.HasPrefix(r.Text(), "SUB "): // it stays
						n = -1
					case r.Text() == "PING" && n >= 0:
						messages <- n
						return
					}
				}
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := publish(port); err == nil {
		t.Error("a server that goes away is no error")
	}
	if n := <-messages; n != batch {
		t.Errorf("%d messages before the question, want %d", n, batch)
	}
}
