package main

import "sync/atomic"

// channel is two goroutines that hand a number to and fro over unbuffered
// channels: nothing but wake-ups. An operation is a hundred exchanges.
func channel() *atomic.Int64 {
	ping, pong := make(chan int), make(chan int)
	n := new(atomic.Int64)
	go partner(ping, pong)
	go func() {
		for {
			volley(ping, pong)
			n.Add(1)
		}
	}()
	return n
}

func volley(ping, pong chan int) {
	for i := range 100 {
		ping <- i
		if <-pong != i {
			panic("lost the ball")
		}
	}
}

func partner(ping, pong chan int) {
	for i := range ping {
		pong <- i
	}
}
