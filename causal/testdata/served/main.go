// Served works for each line of a named pipe, and does nothing while nobody writes one.
package main

import (
	"bufio"
	"log"
	"os"
)

var sink uint64

func main() {
	for {
		f, err := os.Open(os.Args[1]) // waits for a writer
		if err != nil {
			log.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			serve()
		}
		f.Close()
	}
}

//go:noinline
func serve() {
	x := sink | 1
	for range 20_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
