// Command dns (bench) measures how many DNS answers a second iss gives, beside name servers
// that answer with a record from a file.
//
//	go run ./bench/dns
//	go run ./bench/dns -objects 9 -only iss,nsd -rounds 5
//
// dnsperf asks them all for the same names, one server after another in an order that changes
// from round to round; what is compared is ratios within a round. The others, NSD and Knot,
// have LOC records that stand still in a zone file: they look up, iss computes an orbit. PowerDNS
// asks iss through its remote backend, with caches of a second (-1s) or none. Debian's packages are dnsperf, nsd, knot, pdns-server and
// pdns-backend-remote; what is not there is left out, and that is said.
//
// On a machine with few processors the generator takes its share of them. Processor time of
// the server an answer does not depend on that; it is given as well.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	var (
		rounds  = flag.Int("rounds", 11, "how often each server is measured")
		each    = flag.Duration("each", 3*time.Second, "how long each measurement is")
		objects = flag.Int("objects", 30000, "how many objects there are; their names are asked by chance")
		hot     = flag.Bool("hot", false, "ask for one name only, as a stampede does")
		only    = flag.String("only", "", "`servers` to measure, such as iss,nsd; all if empty")
		clients = flag.Int("clients", 8, "sockets of dnsperf")
		binary  = flag.String("iss", "", "more builds of iss to measure, as `NAME=PATH,...`")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "headway-bench-dns-")
	if err == nil {
		b := bench{dir: dir, rounds: *rounds, each: *each, objects: *objects, hot: *hot, clients: *clients}
		if *only != "" {
			b.only = strings.Split(*only, ",")
		}
		if *binary != "" {
			b.more = strings.Split(*binary, ",")
		}
		err = b.run(ctx)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dns:", err)
		os.Exit(1)
	}
}
