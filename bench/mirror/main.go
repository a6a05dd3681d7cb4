// Command mirror measures headway mirror beside aria2c, wget2, curl --parallel, and the plainest correct
// loop in Go, all pulling records of 1 KB from one server on this machine, in turns, into
// directories by date, type and status.
//
//	go run ./bench/mirror
//	go run ./bench/mirror -records 50000 -rounds 5
//
// Beside them stand the physical limits: how many files a second the disk creates, and how
// many requests a second the loopback serves.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/mirror/store"
	"github.com/headway-lab/headway/wire"
)

// published is what the study of 2017 had, in records a minute: client and server on one
// machine of four cores.
const published = 100_000

type bench struct {
	records, few, rounds, workers int
	runs                          int
	dir, headway, self, address   string
}

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			serve()
			return
		case "plain":
			plain(os.Args[2], os.Args[3], os.Args[4])
			return
		}
	}
	var b bench
	flag.IntVar(&b.records, "records", 1_000_000, "pull `N` records")
	flag.IntVar(&b.few, "few", 20_000, "of the slow programs, want only `N`")
	flag.IntVar(&b.rounds, "rounds", 5, "measure each `N` times; 4 or more give intervals")
	flag.IntVar(&b.workers, "workers", 16, "`N` requests at a time, for all")
	flag.StringVar(&b.dir, "dir", "", "work in `DIR`, on the disk to be measured; a temporary one if empty")
	only := flag.String("only", "", "measure only these, such as headway,plain")
	memory := flag.Bool("memory", true, "measure the peak memory at a tenth of the records, too")
	flag.Parse()
	if err := b.run(*only, *memory); err != nil {
		log.Fatal("bench/mirror: ", err)
	}
}

// contestant is a program that pulls so many records into a directory.
type contestant struct {
	name    string
	few     bool
	command func(records int, dir string) (*exec.Cmd, error)
	tool    string // has to be installed

	rate, memory, cpu []float64 // records a minute; MB; us a record
}

func (b *bench) run(only string, memory bool) (err error) {
	if b.dir, err = os.MkdirTemp(b.dir, "bench-mirror-"); err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		os.RemoveAll(b.dir)
		os.Exit(1)
	}()
	defer os.RemoveAll(b.dir)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(b.dir, &fs); err != nil {
		return err
	}
	// A file of 1 KB takes a block of 4 KB, and its inode.
	if need := int64(b.rounds) * int64(2*b.records+400_000) * 4500; need > int64(fs.Bavail)*fs.Bsize {
		return fmt.Errorf("%s has %d GB free, and this needs %d: take fewer -records or -rounds, or another -dir", b.dir, int64(fs.Bavail)*fs.Bsize>>30, need>>30)
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.headway = filepath.Join(b.dir, "headway")
	if out, err := exec.Command("go", "build", "-o", b.headway, "github.com/headway-lab/headway/cmd/headway").CombinedOutput(); err != nil {
		return fmt.Errorf("building headway: %w: %s", err, out)
	}
	stop, err := b.server()
	if err != nil {
		return err
	}
	defer stop()
	all := b.contestants(only)
	fmt.Printf("%s, %s/%s, %d processors; %d records of 1 KB, %d for those marked *, %d at a time, %d rounds\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.records, min(b.few, b.records), b.workers, b.rounds)
	var disk, loop []float64
	for round := range b.rounds {
		for _, i := range rand.Perm(len(all)) {
			c := all[i]
			n := b.records
			if c.few {
				n = min(n, b.few)
			}
			if err := b.measure(c, n); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d: %-8s %9.0f records/min, %5.1f us of processor a record, %4.0f MB\n", round+1, c.name, last(c.rate), last(c.cpu), last(c.memory))
		}
		d, err := b.disk(min(b.records, 100_000))
		if err != nil {
			return err
		}
		l, err := b.loopback(time.Second)
		if err != nil {
			return err
		}
		disk, loop = append(disk, d), append(loop, l)
	}
	b.print(all, disk, loop)
	if memory {
		return b.flat(all)
	}
	return nil
}

func last(x []float64) float64 { return x[len(x)-1] }

func (b *bench) contestants(only string) []*contestant {
	all := []*contestant{
		{name: "headway", command: b.mirror},
		{name: "plain", command: func(n int, dir string) (*exec.Cmd, error) {
			return exec.Command(b.self, "plain", b.address, strconv.Itoa(n), dir), nil
		}},
		{name: "aria2c", few: true, tool: "aria2c", command: func(n int, dir string) (*exec.Cmd, error) {
			list, err := b.list(n, func(w io.Writer, id int) { fmt.Fprintf(w, "%s\n  out=%s\n", b.url(id), path(id)) })
			return exec.Command("aria2c", "-q", "-j", strconv.Itoa(b.workers), "-x1", "--file-allocation=none", "--auto-file-renaming=false", "-d", dir, "-i", list), err
		}},
		{name: "wget2", few: true, tool: "wget2", command: func(n int, dir string) (*exec.Cmd, error) {
			list, err := b.list(n, func(w io.Writer, id int) { fmt.Fprintln(w, b.url(id)) })
			return exec.Command("wget2", "-q", "-x", "-nH", "--no-robots", "--max-threads="+strconv.Itoa(b.workers), "-P", dir, "-i", list), err
		}},
		{name: "curl", few: true, tool: "curl", command: func(n int, dir string) (*exec.Cmd, error) {
			list, err := b.list(n, func(w io.Writer, id int) { fmt.Fprintf(w, "url=%s\noutput=%s/%s\n", b.url(id), dir, path(id)) })
			return exec.Command("curl", "-s", "--parallel", "--parallel-max", strconv.Itoa(b.workers), "--create-dirs", "-K", list), err
		}},
	}
	var there []*contestant
	for _, c := range all {
		if only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			continue
		}
		if c.tool != "" {
			if _, err := exec.LookPath(c.tool); err != nil {
				fmt.Printf("%s is not installed, and left out\n", c.tool)
				continue
			}
		}
		there = append(there, c)
	}
	return there
}

// path is where a record goes, and how its URL ends.
func path(id int) string {
	day := id / perDay
	return fmt.Sprintf("files/2017/%02d/%02d/%s/%s/%d.txt", 1+day/28%12, 1+day%28, kinds[id%3], statuses[id/3%4], id)
}

func (b *bench) url(id int) string { return "http://" + b.address + "/" + path(id) }

func (b *bench) list(n int, line func(io.Writer, int)) (string, error) {
	f, err := os.Create(filepath.Join(b.dir, "list"))
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(f)
	for id := range n {
		line(w, id)
	}
	return f.Name(), errors.Join(w.Flush(), f.Close())
}

func (b *bench) mirror(n int, dir string) (*exec.Cmd, error) {
	config := filepath.Join(b.dir, "mirror.yaml")
	err := os.WriteFile(config, fmt.Appendf(nil, `
list:
  url: http://%[1]s/records?records=%[2]d
  records: .records[]
  total: .total
  page: {parameter: page}
record:
  url: http://%[1]s/records/{id}
path: files/{created:2006/01/02}/{type}/{status}/{id}.txt
http: {workers: %[3]d}
`, b.address, n, b.workers), 0o666)
	return exec.Command(b.headway, "mirror", config, "--to", dir), err
}

// fresh names a directory that was not there. None is removed before the end: for minutes
// after many files were removed ext4 was seen to make a tenth as many, probably because it
// passes over inodes that were freed lately.
func (b *bench) fresh() string {
	b.runs++
	return filepath.Join(b.dir, strconv.Itoa(b.runs))
}

// measure runs a program once.
func (b *bench) measure(c *contestant, n int) error {
	dir := b.fresh()
	defer syscall.Sync()
	cmd, err := c.command(n, dir)
	if err != nil {
		return err
	}
	var out strings.Builder
	cmd.Stderr = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.name, err, out.String())
	}
	took := time.Since(begin)
	files := 0
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".txt") {
			files++
		}
		return err
	})
	if err != nil || files != n {
		return fmt.Errorf("%s left %d files of %d: %v: %s", c.name, files, n, err, out.String())
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	c.rate = append(c.rate, float64(n)/took.Minutes())
	c.memory = append(c.memory, float64(u.Maxrss)/1024)
	c.cpu = append(c.cpu, float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Microseconds())/float64(n))
	return nil
}

// print shows what was measured, and how much faster headway is.
func (b *bench) print(all []*contestant, disk, loop []float64) {
	interval := func(x []float64) string {
		e := effect.Of(x, 0.95, 1)
		return fmt.Sprintf("%11.0f [%.0f, %.0f]", e.Value, e.Low, e.High)
	}
	var us *contestant
	for _, c := range all {
		if c.name == "headway" {
			us = c
		}
	}
	for _, c := range all {
		name := c.name
		if c.few {
			name += "*"
		}
		fmt.Printf("%-9s %-38s records/min  %5.1f us/record  %4.0f MB", name, interval(c.rate), effect.Of(c.cpu, .95, 1).Value, effect.Of(c.memory, .95, 1).Value)
		if us != nil && c != us {
			e := effect.Paired(c.rate, us.rate, 0.95, 1)
			fmt.Printf("  headway is faster by %.2f [%.2f, %.2f]", 1+e.Percent/100, 1+e.Low/100, 1+e.High/100)
		}
		fmt.Println()
	}
	if us != nil {
		fmt.Printf("%-9s %11d %26s records/min, published in 2017: headway is faster by %.1f\n", "study", published, "", effect.Of(us.rate, .95, 1).Value/published)
	}
	fmt.Printf("%-9s %-38s files/min, with all processors\n", "disk", interval(disk))
	fmt.Printf("%-9s %-38s requests/min, wire and the server on the same processors\n", "loopback", interval(loop))
}

// flat compares the peak memory at a tenth of the records.
func (b *bench) flat(all []*contestant) error {
	for _, c := range all {
		if c.name != "headway" {
			continue
		}
		small := *c
		small.memory = nil
		if err := b.measure(&small, max(b.records/10, 1)); err != nil {
			return err
		}
		fmt.Printf("peak memory of headway: %.0f MB for %d records, %.0f MB for %d\n", last(small.memory), max(b.records/10, 1), effect.Of(c.memory, .95, 1).Value, b.records)
	}
	return nil
}

// disk creates files as the mirror does, as fast as that goes, and returns files a minute.
func (b *bench) disk(n int) (float64, error) {
	dir := b.fresh()
	defer syscall.Sync()
	t, err := store.Open(dir, 1000)
	if err != nil {
		return 0, err
	}
	defer t.Close()
	if err := t.Prepare(); err != nil {
		return 0, err
	}
	body := make([]byte, size)
	begin := time.Now()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for {
				id := int(next.Add(1) - 1)
				if id >= n {
					return
				}
				p := path(id)
				i := strings.LastIndexByte(p, '/')
				err := func() error {
					d, err := t.Dir(p[:i])
					if err != nil {
						return err
					}
					defer t.Release(d)
					f, err := t.Create(d)
					if err != nil {
						return err
					}
					if _, err := f.Write(body); err != nil {
						return err
					}
					return f.Name(d, p[i+1:])
				}()
				if err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(n) / time.Since(begin).Minutes(), nil
}

// loopback sends requests and keeps nothing, and returns requests a minute.
func (b *bench) loopback(d time.Duration) (float64, error) {
	begin := time.Now()
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for k := range b.workers {
		wg.Go(func() {
			err := func() error {
				r, err := wire.NewRequest("", "http://"+b.address+"/records/"+strconv.Itoa(k), nil, nil)
				if err != nil {
					return err
				}
				nc, _, _, err := new(wire.Dialer).Dial(context.Background(), r.URL)
				if err != nil {
					return err
				}
				c := wire.NewConn(nc)
				defer c.Close()
				for time.Since(begin) < d {
					if err := c.Send(r); err != nil {
						return err
					}
					if _, err := c.Receive(); err != nil {
						return err
					}
					if _, err := c.Discard(); err != nil {
						return err
					}
					n.Add(1)
				}
				return nil
			}()
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(n.Load()) / time.Since(begin).Minutes(), nil
}
