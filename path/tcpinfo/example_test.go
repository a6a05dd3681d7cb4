package tcpinfo_test

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/headway-lab/headway/path/tcpinfo"
)

// A test of a protocol can assert what the network saw: here, that a message leaves in one segment, and that nothing had
// to be sent again.
func Example() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			io.Copy(c, c) // an echo
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	rec, err := tcpinfo.Record(c, tcpinfo.Sampling{Every: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Write([]byte("a message"))
	io.ReadFull(c, make([]byte, len("a message")))
	course := rec.Stop()
	last := course[len(course)-1]
	fmt.Println(last.State, last.DataSegmentsOut, "segment,", last.BytesReceived, "bytes back,", last.TotalRetrans, "sent again")
	// Output: established 1 segment, 9 bytes back, 0 sent again
}
