package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain makes the test binary act as the program when it is started as such.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == clientVerb || os.Getenv("TEST_HTTP2_MAIN") != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var summary = regexp.MustCompile(`^[1-9][0-9]* requests in [0-9.]+ s: [1-9][0-9]* requests/s\n$`)

func TestRun(t *testing.T) {
	for name, c := range map[string]config{
		"child process": {inFlight: 10, connections: 1, lasts: 300 * time.Millisecond},
		"in process":    {inFlight: 10, connections: 1, lasts: 300 * time.Millisecond, inProcess: true},
		"several":       {inFlight: 11, connections: 3, lasts: 300 * time.Millisecond, inProcess: true},
		"compressed":    {inFlight: 4, connections: 1, lasts: 300 * time.Millisecond, inProcess: true, gzip: true},
		"one at a time": {inFlight: 1, connections: 1, lasts: 300 * time.Millisecond, inProcess: true},
		"more than 250": {inFlight: 300, connections: 1, lasts: 300 * time.Millisecond, inProcess: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log bytes.Buffer
			if err := run(t.Context(), c, &out, &log); err != nil {
				t.Fatal(err)
			}
			if !summary.MatchString(out.String()) {
				t.Errorf("printed %q", out.String())
			}
			if log.Len() > 0 {
				t.Errorf("without -v said %q", log.String())
			}
		})
	}
}

func TestOneConnection(t *testing.T) {
	s, err := listen(config{inFlight: 10})
	if err != nil {
		t.Fatal(err)
	}
	var seen sync.Map
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.RemoteAddr, true)
		s.home(w, r)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := ask(ctx, target{Address: s.address(), Certificate: s.certificate, InFlight: 10, Connections: 1}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	n := 0
	seen.Range(func(_, _ any) bool { n++; return true })
	if n != 1 {
		t.Errorf("the client used %d connections, want 1", n)
	}
}

func TestPage(t *testing.T) {
	page := homePage()
	if n := len(page); n < 45_000 || n > 50_000 {
		t.Errorf("the page has %d bytes", n)
	}
	if !bytes.Equal(page, homePage()) {
		t.Error("two starts give two pages")
	}
	if i := bytes.Index(page, []byte("%!")); i >= 0 {
		t.Errorf("a bad format left %q", page[i:i+40])
	}
	s := &server{page: page, zipped: compressed(page), first: make(chan struct{})}
	for _, enc := range []string{"", "gzip, deflate, br"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", enc)
		w := httptest.NewRecorder()
		s.home(w, r)
		if n := len(w.Header()); n < 12 {
			t.Errorf("the answer has %d headers", n)
		}
		if got := w.Header().Get("Content-Encoding"); (got == "gzip") != (enc != "") {
			t.Errorf("accept %q gives encoding %q", enc, got)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"-connections 0", "-requests-in-flight 0", "-for -1s", "surplus", "-nonsense"} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s was accepted", args)
		}
	}
}

func TestWithoutHeadway(t *testing.T) {
	got := withoutHeadway([]string{"A=1", "HEADWAY_CONTROL=/x", "B=HEADWAY_"})
	if strings.Join(got, " ") != "A=1 B=HEADWAY_" {
		t.Errorf("kept %q", got)
	}
}

// A signal stops both processes, and the summary is printed.
func TestInterrupt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, out, lines := start(t)
		<-lines
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		for range lines {
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		if !summary.MatchString(out.String()) {
			t.Errorf("%v: printed %q", sig, out.String())
		}
	}
}

// The child ends with its parent even when the parent can no longer say so:
// the pipe both hold as standard error is closed once both are gone.
func TestKilled(t *testing.T) {
	cmd, _, lines := start(t)
	<-lines
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(10 * time.Second)
	for open := true; open; {
		select {
		case _, open = <-lines:
		case <-timeout:
			t.Fatal("the client outlives the killed server")
		}
	}
	cmd.Wait()
}

// start runs the program with -v; lines has what it says on standard error.
func start(t *testing.T) (cmd *exec.Cmd, out *bytes.Buffer, lines <-chan string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, "-v")
	cmd.Env = append(os.Environ(), "TEST_HTTP2_MAIN=1")
	out = new(bytes.Buffer)
	cmd.Stdout = out
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	c := make(chan string)
	go func() {
		defer close(c)
		defer r.Close()
		b := make([]byte, 1024)
		for {
			n, err := r.Read(b)
			if err != nil {
				return
			}
			c <- string(b[:n])
		}
	}()
	return cmd, out, c
}
