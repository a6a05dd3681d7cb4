// Http serves its own client, over the protocol that its argument names.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

var sink uint64

func main() {
	var p http.Protocols
	if os.Args[1] == "2" {
		p.SetUnencryptedHTTP2(true)
	} else {
		p.SetHTTP1(true)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(handle), Protocols: &p}
	go srv.Serve(l)
	client := &http.Client{Transport: &http.Transport{Protocols: &p}}
	for {
		resp, err := client.Get("http://" + l.Addr().String())
		if err != nil {
			panic(err)
		}
		if resp.ProtoMajor != int(os.Args[1][0]-'0') {
			panic(resp.Proto)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func handle(w http.ResponseWriter, r *http.Request) {
	work()
	fmt.Fprintln(w, sink)
}

//go:noinline
func work() {
	x := sink | 1
	for range 200_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	sink = x
}
