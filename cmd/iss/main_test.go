package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"iss": main})
}

func TestScripts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(celestrak))
	t.Cleanup(server.Close) // after the scripts, which run in parallel
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is in use
			if err != nil {
				return err
			}
			e.Defer(func() { l.Close() })
			e.Setenv("TAKEN", l.Addr().String())
			e.Setenv("SERVER", server.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "start": start, "stop": stop, "await": await, "get": get},
	})
}

// status N COMMAND ARGS... runs a command that must end with exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		if _, err := fmt.Sscanf(err.Error(), "exit status %d", &got); err != nil {
			ts.Fatalf("%v", err)
		}
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// process is an iss that runs.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	said strings.Builder
	done chan struct{} // no more to say
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// await TEXT waits until the process that was started says something.
func await(ts *testscript.TestScript, neg bool, args []string) {
	processesMu.Lock()
	p := processes[ts]
	processesMu.Unlock()
	for range 2000 {
		if strings.Contains(p.text(), strings.Join(args, " ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("no %q in %s", args, p.text())
}

// get PATH writes what the page's server has there to the file got.
func get(ts *testscript.TestScript, neg bool, args []string) {
	resp, err := http.Get(ts.Getenv("HTTP") + args[0])
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if (resp.StatusCode == http.StatusOK) == neg {
		ts.Fatalf("%s: %s", args[0], resp.Status)
	}
	ts.Check(os.WriteFile(ts.MkAbs("got"), body, 0o644))
}

// celestrak is a server of elements whose epoch is an hour ago. /bad is another kind, /silent a third.
func celestrak(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/bad" {
		http.Error(w, "<h1>Forbidden</h1> You ask too often.", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/silent" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, "OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,EPHEMERIS_TYPE,CLASSIFICATION_TYPE,NORAD_CAT_ID,ELEMENT_SET_NO,REV_AT_EPOCH,BSTAR,MEAN_MOTION_DOT,MEAN_MOTION_DDOT\n"+
		"ISS (ZARYA),1998-067A,%s,15.49,.0007,51.63,58.4,13.5,346.6,0,U,25544,999,57932,.0001,.00005,0\n",
		time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05.000000"))
}

var (
	processes   = map[*testscript.TestScript]*process{}
	processesMu sync.Mutex
)

var addresses = regexp.MustCompile(`^iss: (?:DNS on (\S+):(\d+), UDP|page and API on (\S+)/$)`)

// start ARGS... runs iss until it serves, on ports that are free unless the arguments say
// otherwise. DNS becomes what dig needs to ask it, HTTP the address of the page.
func start(ts *testscript.TestScript, neg bool, args []string) {
	all := append([]string{"--http", "127.0.0.1:0"}, args...)
	if !slices.Contains(args, "--dns") {
		all = append(all, "--dns", servicePort(ts))
	}
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "iss"); path == "" {
			if _, err := os.Stat(p); err == nil {
				path = p
			}
		}
	}
	p := &process{cmd: exec.Command(path, all...), done: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"), "NOTIFY_SOCKET="+ts.Getenv("NOTIFY_SOCKET"))
	stderr, err := p.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	processesMu.Lock()
	processes[ts] = p
	processesMu.Unlock()
	ts.Defer(func() {
		p.cmd.Process.Kill()
		<-p.done
		p.cmd.Wait()
		processesMu.Lock()
		delete(processes, ts)
		processesMu.Unlock()
	})
	up := make(chan struct{})
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(stderr)
		for ready := false; lines.Scan(); {
			p.mu.Lock()
			p.said.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if strings.Contains(lines.Text(), "newer elements") && !ready {
				ready = true
				close(up)
			}
		}
	}()
	select {
	case <-up:
	case <-p.done:
		ts.Fatalf("iss %v ends: %s", all, p.text())
	case <-time.After(20 * time.Second):
		ts.Fatalf("iss %v does not come up", all)
	}
	for _, line := range strings.Split(p.text(), "\n") {
		if m := addresses.FindStringSubmatch(line); m != nil && m[2] != "" {
			ts.Setenv("DNS", "@"+m[1])
			ts.Setenv("PORT", m[2])
		} else if m != nil {
			ts.Setenv("HTTP", m[3])
		}
	}
}

// servicePort is a free address for DNS below the ports that the system gives to clients. dig, too, asks for SO_REUSEPORT:
// once in some ten thousand times it would get the server's own port, and its query back.
func servicePort(ts *testscript.TestScript) string {
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		u, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", address)
		u.Close()
		if err != nil {
			continue
		}
		l.Close()
		return address
	}
	ts.Fatalf("no port is free")
	return ""
}

// stop sends SIGTERM, waits for exit status 0 and writes what was said to the file said.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	processesMu.Lock()
	p := processes[ts]
	processesMu.Unlock()
	if p == nil {
		ts.Fatalf("nothing was started")
	}
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		ts.Fatalf("iss does not stop")
	}
	err := p.cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("said"), []byte(p.text()), 0o644))
	if err != nil {
		ts.Fatalf("%v: %s", err, p.text())
	}
}

// systemd is told when it serves, and when it stops.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	notify("READY=1")
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, 100)
	if n, err := c.Read(b); err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(path, "none"))
	notify("READY=1") // nobody there: no harm
}
