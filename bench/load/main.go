// Command load (bench) compares headway load with other generators.
//
//	go run ./bench/load            // processor time a request, beside wrk, h2load and hey
//	go run ./bench/load -truth     // latencies of servers whose latencies are known
//
// All run against the same server, one after another, in an order that changes from round to
// round; what is compared is ratios within a round. nginx, wrk and h2load are Debian's
// packages nginx-light, wrk and nghttp2-client; hey is built for the purpose. What is not there is left out, and that is said.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/headway-lab/headway/awake"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == awake.Arg {
		os.Exit(awake.Main(os.Args[2:]))
	}
	var (
		rounds      = flag.Int("rounds", 9, "how often each program is run")
		each        = flag.Duration("each", 4*time.Second, "how long each run is")
		connections = flag.Int("connections", 64, "how many connections each has")
		wrk2        = flag.String("wrk2", "", "with -truth: the `program` wrk2, built from github.com/giltene/wrk2")
		only        = flag.String("only", "", "with -truth: one `part`: stall, mm1, slow or drop")
		truth       = flag.Bool("truth", false, "instead: latencies of servers whose latencies are known")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "headway-bench-load-")
	if err == nil {
		b := bench{dir: dir, rounds: *rounds, each: *each, connections: *connections, wrk2: *wrk2, only: *only}
		if err = b.build(ctx); err == nil {
			if *truth {
				// Processors that sleep wake late, on virtual machines by milliseconds.
				err = awake.While(func() error { return b.truth(ctx) })
			} else {
				err = b.compare(ctx)
			}
		}
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

type bench struct {
	dir         string
	rounds      int
	each        time.Duration
	connections int
	headway     string
	server      string
	wrk2        string
	only        string
}

// build makes headway as a user would have it.
func (b *bench) build(ctx context.Context) error {
	b.headway = filepath.Join(b.dir, "headway")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.headway, "github.com/headway-lab/headway/cmd/headway").CombinedOutput(); err != nil {
		return fmt.Errorf("building headway: %w\n%s", err, out)
	}
	return nil
}

// module builds a program from its module; "" if it cannot be had.
func (b *bench) module(ctx context.Context, path string) string {
	cmd := exec.CommandContext(ctx, "go", "install", path)
	cmd.Env = append(os.Environ(), "GOBIN="+b.dir, "GOFLAGS=")
	cmd.Dir = b.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Printf("%s cannot be built and is left out: %.300s\n", path, out)
		return ""
	}
	name, _, _ := cutVersion(filepath.Base(path))
	return filepath.Join(b.dir, name)
}

func cutVersion(s string) (name, version string, ok bool) {
	for i := range s {
		if s[i] == '@' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// installed finds a program; "" if there is none.
func installed(name, debian string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		fmt.Printf("%s is not installed and is left out (apt-get install %s)\n", name, debian)
		return ""
	}
	return path
}
