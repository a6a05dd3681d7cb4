// Pipes works in one goroutine all the time. Two hundred others wait on a pipe each; after half a second they are woken one after
// another, each when the one before has answered. Then it prints "done".
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	go func() {
		for {
			work()
		}
	}()
	const pipes = 200
	var writers [pipes]*os.File
	answers := make(chan error)
	for i := range writers {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		writers[i] = w
		go func() {
			var b [1]byte
			_, err := r.Read(b[:])
			answers <- err
		}()
	}
	time.Sleep(500 * time.Millisecond)
	for _, w := range writers {
		if _, err := w.Write([]byte{1}); err != nil {
			panic(err)
		}
		// It may be closed before anybody has looked at the other end.
		if err := w.Close(); err != nil {
			panic(err)
		}
		if err := <-answers; err != nil {
			panic(err)
		}
	}
	fmt.Println("done")
	select {}
}

var sink uint64

//go:noinline
func work() {
	x := sink | 1
	for range 10_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
