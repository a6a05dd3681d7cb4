// Command load is a server with known latencies, to try headway load on.
//
//	go run ./examples/load &
//	go run ./cmd/headway load --rate 70 --duration 30s http://127.0.0.1:8080/mm1
//
// Its pages:
//
//	/       answers at once
//	/mm1    has one worker that takes 10 ms on average (-service says otherwise), exponentially distributed: with
//	        Poisson arrivals it is the queue M/M/1 of the textbooks
//	/slow   answers after 20 ms, and any number at a time
//	/stall  stops for a second of every ten
//	/drop   ends the connection instead of an answer for one request of ten
//	/seen   the median, p95, p99 and p99.9 of /mm1 as the server saw them, in ms, since it was asked last
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/histogram"
)

const service = 10 * time.Millisecond

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen on")
	service := flag.Duration("service", service, "mean `time` that /mm1 takes for a request")
	seed := flag.Uint64("seed", 1, "`number` that decides which times those are, and what /drop drops")
	flag.Parse()
	if *service <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "load: want a -service of more than 0, and nothing behind the flags")
		os.Exit(2)
	}
	l, err := net.Listen("tcp", *listen)
	if err == nil {
		fmt.Println("listening on http://" + l.Addr().String())
		err = http.Serve(l, newServer(*service, *seed))
	}
	fmt.Fprintln(os.Stderr, "load:", err)
	os.Exit(1)
}

// worker is the queue of /mm1. When a service ends is known when its request comes, so
// nothing but the answer waits.
type worker struct {
	mu   sync.Mutex
	luck *dist.Stream
	mean float64 // ns
	free time.Time
	seen histogram.Histogram
}

func (q *worker) end() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if q.free.Before(now) {
		q.free = now
	}
	q.free = q.free.Add(time.Duration(q.luck.Exp() * q.mean))
	return q.free
}

// saw notes how long a request really took, until its answer: a busy machine is late.
func (q *worker) saw(took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen.Add(int64(took))
}

func newServer(service time.Duration, seed uint64) http.Handler {
	begin := time.Now()
	q := &worker{mean: float64(service), luck: dist.NewStream(seed, "service"), free: begin}
	var mu sync.Mutex
	drops := dist.NewStream(seed, "drops")
	ok := func(w io.Writer) { io.WriteString(w, "ok\n") }

	m := http.NewServeMux()
	m.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { ok(w) })
	m.HandleFunc("/mm1", func(w http.ResponseWriter, _ *http.Request) {
		came := time.Now()
		until(q.end())
		q.saw(time.Since(came))
		ok(w)
	})
	m.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		until(time.Now().Add(20 * time.Millisecond))
		ok(w)
	})
	m.HandleFunc("/stall", func(w http.ResponseWriter, _ *http.Request) {
		now := time.Since(begin)
		if in := now % (10 * time.Second); in < time.Second {
			until(begin.Add(now - in + time.Second))
		}
		ok(w)
	})
	m.HandleFunc("/drop", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		drop := drops.Float64() < .1
		mu.Unlock()
		if !drop {
			ok(w)
		} else if nc, _, err := http.NewResponseController(w).Hijack(); err == nil {
			nc.Close()
		}
	})
	m.HandleFunc("/seen", func(w http.ResponseWriter, _ *http.Request) {
		q.mu.Lock()
		defer q.mu.Unlock()
		var told [4]float64
		for i, x := range []float64{.5, .95, .99, .999} {
			told[i] = q.seen.Quantile(x) / 1e6
		}
		q.seen.Reset()
		json.NewEncoder(w).Encode(told)
	})
	return m
}

// until sleeps until t, to some ten microseconds: the runtime's timers round up to whole milliseconds, so the
// kernel's are left the last of them. Spinning would take the processor from the one who measures.
func until(t time.Time) {
	const rest = 2 * time.Millisecond
	if d := time.Until(t) - rest; d > 0 {
		time.Sleep(d)
	}
	for d := time.Until(t); d > 0; d = time.Until(t) {
		left := unix.NsecToTimespec(int64(d))
		unix.Nanosleep(&left, nil)
	}
}
