// Command pcap measures how fast headway path pcap reads captures, beside tshark and tcptrace, in
// turns, on one capture that it makes: bulk transfers with losses, of which it knows how many there are.
//
//	go run ./bench/pcap
//	go run ./bench/pcap -size 200MB -snaplen 96 -rounds 5
//
// tshark dissects everything that it knows, and keeps more of each packet; tcptrace follows TCP only. What they
// have in common is that they follow every connection, and count what was sent again.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/effect"
	"github.com/headway-lab/headway/path/quantity"
)

// contestant is a program that reads a capture.
type contestant struct {
	name string
	args []string

	rate, cpu, memory []float64 // MB/s of the file; ns of processor a packet; MB
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench/pcap: ")
	size := flag.String("size", "300MB", "read a capture of `SIZE`")
	snaplen := flag.Int("snaplen", 0, "keep `N` bytes of each packet; 0 is all")
	flows := flag.Int("connections", 100, "of `N` connections")
	rounds := flag.Int("rounds", 5, "measure each `N` times; 4 or more give intervals")
	dir := flag.String("dir", "", "work in `DIR`; a temporary one if empty")
	flag.Parse()
	bytes, err := quantity.Size(*size)
	if err == nil {
		err = run(bytes, *snaplen, *flows, *rounds, *dir)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(size int64, snaplen, flows, rounds int, dir string) (err error) {
	if dir, err = os.MkdirTemp(dir, "bench-pcap-"); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	headway := filepath.Join(dir, "headway")
	if out, err := exec.Command("go", "build", "-o", headway, "github.com/headway-lab/headway/cmd/headway").CombinedOutput(); err != nil {
		return fmt.Errorf("building headway: %w: %s", err, out)
	}
	file, tenth := filepath.Join(dir, "capture.pcap"), filepath.Join(dir, "tenth.pcap")
	packets, resent, err := generate(file, size, snaplen, flows)
	if err != nil {
		return err
	}
	if _, _, err := generate(tenth, size/10, snaplen, flows); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	found, err := check(headway, file)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s/%s, %d processors; %d packets in %d MB, %d connections, %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), packets, info.Size()/1e6, flows, rounds)
	fmt.Printf("sent again: %d in the capture, %d found\n", resent, found)
	var all []*contestant
	for _, c := range []*contestant{
		{name: "headway", args: []string{headway, "path", "pcap", "--quiet"}},
		{name: "tshark", args: []string{"tshark", "-q", "-z", "conv,tcp", "-r"}},
		{name: "tcptrace", args: []string{"tcptrace", "-n", "-l", "-r"}},
		{name: "capinfos", args: []string{"capinfos", "-c"}}, // only counts packets: what reading costs
	} {
		if _, err := exec.LookPath(c.args[0]); err != nil {
			fmt.Printf("%s is not installed, and left out\n", c.name)
			continue
		}
		all = append(all, c)
	}
	for range rounds {
		for _, i := range rand.Perm(len(all)) {
			if err := all[i].measure(file, info.Size(), packets); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		r, cpu, mb := effect.Of(c.rate, .95, 1), effect.Of(c.cpu, .95, 1), effect.Of(c.memory, .95, 1)
		fmt.Printf("%-9s %7.0f MB/s [%.0f, %.0f], %6.0f ns of processor a packet [%.0f, %.0f], peak %5.0f MB, n=%d\n", c.name, r.Value, r.Low, r.High, cpu.Value, cpu.Low, cpu.High, mb.Value, r.N)
	}
	for _, c := range all[1:] {
		e := effect.Paired(c.rate, all[0].rate, .95, 1)
		fmt.Printf("headway is %.3g times as fast as %s [%.3g, %.3g], n=%d\n", 1+e.Percent/100, c.name, 1+e.Low/100, 1+e.High/100, e.N)
	}
	small := &contestant{name: "headway", args: all[0].args}
	if err := small.measure(tenth, info.Size()/10, packets/10); err != nil {
		return err
	}
	fmt.Printf("headway takes %.0f MB for a tenth of it\n", small.memory[0])
	return nil
}

// check asks headway how many segments were sent again.
func check(headway, file string) (int64, error) {
	out, err := exec.Command(headway, "path", "pcap", "--quiet", "--format", "json", "--top", "1000000", file).Output()
	if err != nil {
		return 0, err
	}
	var r struct {
		Cases []struct {
			Values map[string]struct{ Value float64 }
		}
		Tables []struct {
			Title   string
			Columns []struct{ Name string }
			Rows    []struct{ Values []*float64 }
		}
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return 0, err
	}
	var sum float64
	if len(r.Cases) == 1 {
		sum = r.Cases[0].Values["sent again"].Value
	}
	for _, t := range r.Tables {
		if !strings.HasPrefix(t.Title, "Connections") {
			continue
		}
		sum = 0 // the case is one of them
		for i, c := range t.Columns {
			for _, row := range t.Rows {
				if c.Name == "sent again" && row.Values[i] != nil {
					sum += *row.Values[i]
				}
			}
		}
	}
	return int64(sum), nil
}

func (c *contestant) measure(file string, size, packets int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], append(c.args[1:len(c.args):len(c.args)], file)...)
	if c.name == "tcptrace" {
		cmd.Args = append(c.args[:len(c.args)-1:len(c.args)-1], file)
	}
	var out strings.Builder
	cmd.Stderr = &out
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.name, err, out.String())
	}
	took := time.Since(begin)
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	c.rate = append(c.rate, float64(size)/1e6/took.Seconds())
	c.cpu = append(c.cpu, float64((cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Nanoseconds())/float64(packets))
	c.memory = append(c.memory, float64(u.Maxrss)/1024)
	fmt.Fprintf(os.Stderr, "%-9s %.0f MB/s\n", c.name, c.rate[len(c.rate)-1])
	return nil
}
