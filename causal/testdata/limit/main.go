// Limit serves four connections on one processor, which always has a request in hand. Their client is another process.
package main

import (
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"runtime"
)

var sink uint64

func main() {
	runtime.GOMAXPROCS(1)
	if len(os.Args) > 1 {
		client(os.Args[1])
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	if err := exec.Command(self, l.Addr().String()).Start(); err != nil {
		log.Fatal(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(c)
	}
}

// serve ends in silence with the client, which may be ended first.
func serve(c net.Conn) {
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(c, one); err != nil {
			return
		}
		step()
		if _, err := c.Write(one); err != nil {
			return
		}
	}
}

//go:noinline
func step() {
	x := sink | 1
	for range 200_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}

// client asks again as soon as there is an answer. It ends with its server.
func client(server string) {
	done := make(chan error)
	for range 4 {
		c, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		go func() {
			_, err := c.Write([]byte{0})
			if err == nil {
				_, err = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
			}
			done <- err
		}()
	}
	<-done
}
