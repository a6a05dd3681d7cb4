package main

import (
	"bufio"
	"fmt"
	"net"
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
			_, port, _ := net.SplitHostPort(l.Addr().String())
			e.Setenv("TAKEN_PORT", port)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "start": start, "stop": stop},
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
	said strings.Builder
	done chan struct{} // no more to say
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
		all = append(all, "--dns", "127.0.0.1:0")
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
			p.said.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "newer elements") && !ready {
				ready = true
				close(up)
			}
		}
	}()
	select {
	case <-up:
	case <-p.done:
		ts.Fatalf("iss %v ends: %s", all, p.said.String())
	case <-time.After(20 * time.Second):
		ts.Fatalf("iss %v does not come up", all)
	}
	for _, line := range strings.Split(p.said.String(), "\n") {
		if m := addresses.FindStringSubmatch(line); m != nil && m[2] != "" {
			ts.Setenv("DNS", "@"+m[1])
			ts.Setenv("PORT", m[2])
		} else if m != nil {
			ts.Setenv("HTTP", m[3])
		}
	}
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
	ts.Check(os.WriteFile(ts.MkAbs("said"), []byte(p.said.String()), 0o644))
	if err != nil {
		ts.Fatalf("%v: %s", err, p.said.String())
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
