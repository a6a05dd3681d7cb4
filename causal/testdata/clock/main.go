// Clock waits in every way a program can, each for 10 ms at a time, for as long
// as its argument says on its own clock, and prints how often, and how long it
// took on its own clock.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

const step = 10 * time.Millisecond

func main() {
	d, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	begin := time.Now()
	var all sync.WaitGroup
	var mu sync.Mutex
	run := func(name string, wait func()) {
		all.Go(func() {
			n := 0
			for time.Since(begin) < d {
				wait()
				n++
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Println(name, n)
		})
	}
	run("sleep", func() { time.Sleep(step) })
	tick := time.NewTicker(step)
	defer tick.Stop()
	run("ticker", func() { <-tick.C })
	run("context", func() {
		ctx, cancel := context.WithTimeout(context.Background(), step)
		defer cancel()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			panic(ctx.Err())
		}
	})
	never := make(chan bool)
	run("select", func() {
		select {
		case <-never:
		case <-time.After(step):
		}
	})
	conn, other := pair()
	defer other.Close()
	run("deadline", func() {
		conn.SetReadDeadline(time.Now().Add(step))
		var b [1]byte
		if _, err := conn.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			panic(err)
		}
	})
	run("timer", func() {
		done := make(chan bool)
		t := time.AfterFunc(step, func() { close(done) })
		<-done
		t.Stop()
	})
	run("busy", func() {
		for t := time.Now(); time.Since(t) < step; {
			time.Sleep(step / 10)
		}
	})
	all.Wait()
	fmt.Println("took", time.Since(begin).Nanoseconds())
}

func pair() (net.Conn, net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	b, err := l.Accept()
	if err != nil {
		panic(err)
	}
	return a, b
}
