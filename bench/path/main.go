// Command path (bench) compares the emulated link of headway path with other emulators.
//
//	go run ./bench/path                     // all that are there, all parts
//	go run ./bench/path -mahimahi DIR       // with mm-delay, mm-loss and mm-link from DIR
//	go run ./bench/path -only bulk -rounds 9
//
// The same client runs inside of each, and the same server at its far end, one emulator after another,
// in an order that changes from round to round; what is compared is ratios within a round. The parts:
//
//	quiet   how late or early single packets are, 997 a second, on a path of 50 ms; and how late the machine wakes
//	        a thread that does nothing but sleep, meanwhile
//	busy    the same beside ten TCP transfers, of 10 Mbit/s each
//	bulk    how much ten TCP transfers carry when nothing limits them, and the processor time a packet
//	small   how many datagrams of 100 bytes get through
//	loss    how many of 20,000 packets are lost of 1 %, held against the binomial distribution
//	rate    how much of a bottleneck of 10 Mbit/s a transfer fills
//
// Idle processors are kept awake meanwhile (see package awake): those of virtual machines wake late, whatever the emulator.
//
// Processor time is that of the emulator, the client and the server together: the two latter are
// the same for all. mahimahi is built from github.com/ravinet/mahimahi, and wants its programs
// owned by root with the set-user-ID bit; netem is the kernel's. What is not there is left out, and that is said.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/path/link"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == awake.Arg {
		os.Exit(awake.Main(os.Args[2:]))
	}
	var (
		rounds   = flag.Int("rounds", 9, "how often each emulator does each `part`")
		each     = flag.Duration("each", 4*time.Second, "how long each trial is")
		mahimahi = flag.String("mahimahi", "", "`directory` of mm-delay, mm-loss and mm-link (default those in PATH)")
		only     = flag.String("only", "", "one `part`: quiet, busy, bulk, small, loss or rate")
		seed     = flag.Uint64("seed", 1, "decides the order")
		trial    = flag.String("trial", "", "for the program's own use")
		worker   = flag.String("worker", "", "for the program's own use")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case *worker != "":
		err = work(*worker)
	case *trial != "":
		err = try(*trial)
	default:
		if done, code, e := link.Enter(ctx); e != nil {
			err = e
		} else if done {
			os.Exit(code)
		} else {
			err = awake.While(func() error { return compare(ctx, *rounds, *each, *mahimahi, *only, *seed) })
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "path:", err)
		os.Exit(1)
	}
}

// part is a question, and the conditions under which it is asked.
type part struct {
	Name string
	Conditions
	Task
}

// Conditions of a path, of those that all emulators know.
type Conditions struct {
	Delay time.Duration // each way
	Loss  float64       // of what the client sends
	Rate  float64       // bit/s, of what the client sends
}

// Task is what the client does.
type Task struct {
	Probes int     // datagrams a second; -1 is as many as can be
	Size   int     // of them
	Count  int     // of them, 0 for as many as there is time
	Flows  int     // transfers to the server
	Pace   float64 // of each, bit/s; 0 is none
	Each   time.Duration
	To     string // address, without port
}

var parts = []part{
	{"quiet", Conditions{Delay: 50 * time.Millisecond}, Task{Probes: 997, Size: 100}},
	{"busy", Conditions{Delay: 50 * time.Millisecond}, Task{Probes: 997, Size: 100, Flows: 10, Pace: 10e6}},
	{"bulk", Conditions{}, Task{Flows: 10}},
	{"small", Conditions{}, Task{Probes: -1, Size: 100}},
	{"loss", Conditions{Loss: .01}, Task{Probes: 10000, Size: 100, Count: 20000}},
	{"rate", Conditions{Rate: 10e6}, Task{Flows: 1}},
}

// job is what a trial is told.
type job struct {
	Emulator, Mahimahi string
	Part               part
}

// compare does all trials, and prints what they say.
func compare(ctx context.Context, rounds int, each time.Duration, mahimahi, only string, seed uint64) error {
	names := there(ctx, mahimahi)
	order := rand.New(rand.NewPCG(seed, 0))
	found := false
	for _, p := range parts {
		if only != "" && p.Name != only {
			continue
		}
		found = true
		p.Each = each
		results := map[string][]result{}
		for range rounds {
			for _, i := range order.Perm(len(names)) {
				r, err := start(ctx, job{names[i], mahimahi, p})
				if err != nil {
					return fmt.Errorf("%s, %s: %w", names[i], p.Name, err)
				}
				results[names[i]] = append(results[names[i]], r)
			}
		}
		show(p, names, results)
	}
	if !found {
		return fmt.Errorf("-only %s: want quiet, busy, bulk, small, loss or rate", only)
	}
	return nil
}

// there are the emulators that work here.
func there(ctx context.Context, mahimahi string) []string {
	var names []string
	for _, name := range []string{"headway", "headway, veth", "mahimahi", "netem"} {
		p := part{"", Conditions{Delay: time.Millisecond}, Task{Probes: 100, Size: 100, Each: 100 * time.Millisecond}}
		if r, err := start(ctx, job{name, mahimahi, p}); err != nil {
			fmt.Printf("%s is left out: %v\n", name, err)
		} else if r.Came == 0 {
			fmt.Printf("%s is left out: nothing gets through\n", name)
		} else {
			names = append(names, name)
		}
	}
	fmt.Println()
	return names
}

// start runs a trial in a process of its own.
func start(ctx context.Context, j job) (r result, err error) {
	b, err := json.Marshal(j)
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, j.Part.Each+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-trial", string(b))
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		if e := (*exec.ExitError)(nil); errors.As(err, &e) && wrong.Len() > 0 {
			return r, errors.New(strings.TrimPrefix(strings.Join(slices.Compact(strings.Split(strings.TrimSpace(wrong.String()), "\n")), "; "), "path: "))
		}
		return r, err
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}
