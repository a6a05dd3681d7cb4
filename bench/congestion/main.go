// Command congestion (bench) holds transfers over emulated paths against what theory says of them:
// Reno and CUBIC under random loss, BBR and CUBIC before a bottleneck, slow start without loss.
//
//	go run ./bench/congestion                  // 7 minutes
//	go run ./bench/congestion -only loss -each 60s
//
// Each figure is a mean over flows that run at the same time, each over a link of its own, with
// its 95 % interval.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/headway-lab/headway/awake"
	"github.com/headway-lab/headway/path/link"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == awake.Arg {
		os.Exit(awake.Main(os.Args[2:]))
	}
	b := bench{}
	flag.DurationVar(&b.each, "each", 30*time.Second, "how long each flow is measured")
	flag.DurationVar(&b.skip, "skip", 5*time.Second, "how much of each flow before that does not count")
	flag.IntVar(&b.flows, "flows", 8, "how many flows each figure is the mean of")
	flag.StringVar(&b.only, "only", "", "one `part`: loss, bottleneck or start")
	flag.Uint64Var(&b.seed, "seed", 1, "`number` that decides what is lost")
	flag.Parse()
	if b.flows < 4 || b.each <= 0 || b.skip < 0 || b.only != "" && b.only != "loss" && b.only != "bottleneck" && b.only != "start" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "congestion: want at least 4 -flows, some time for -each, and -only loss, bottleneck or start")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done, code, err := link.Enter(ctx)
	if done {
		os.Exit(code)
	}
	if err == nil {
		err = awake.While(func() error { return b.run(ctx) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "congestion:", err)
		os.Exit(1)
	}
}

type bench struct {
	each, skip time.Duration
	flows      int
	only       string
	seed       uint64
}

func (b *bench) run(ctx context.Context) error {
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"start", b.start}, {"bottleneck", b.bottleneck}, {"loss", b.loss}} {
		if b.only != "" && b.only != part.name {
			continue
		}
		if err := part.run(ctx); err != nil {
			return err
		}
		fmt.Println()
	}
	return nil
}
