package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// What the server has: records of 1 KB, so many a day.
const (
	size   = 1024
	perDay = 20_000
)

var (
	kinds    = []string{"invoice", "receipt", "offer"}
	statuses = []string{"paid", "open", "void", "late"}
)

// serve is as lean as a server in Go gets, so that the clients decide: it reads requests by
// the line, and answers each with one write. It ends with its standard input.
func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go answer(c)
	}
}

// answer serves one connection.
func answer(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 4096)
	var out []byte
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		target, _, _ := strings.Cut(strings.TrimPrefix(string(line), "GET "), " ")
		shut := false
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(bytes.TrimSpace(line)) == 0 {
				break
			}
			shut = shut || len(line) > 17 && bytes.EqualFold(line[:17], []byte("connection: close"))
		}
		if query, ok := strings.CutPrefix(target, "/records?"); ok {
			page := list(query)
			out = fmt.Appendf(out[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(page))
			out = append(out, page...)
		} else {
			out = append(out[:0], "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n"...)
			out = append(out, body...)
			copy(out[len(out)-size:], target)
		}
		if _, err := c.Write(out); err != nil || shut {
			return
		}
	}
}

// list is a page of a thousand records.
func list(query string) []byte {
	page, records := 1, 0
	for p := range strings.SplitSeq(query, "&") {
		k, v, _ := strings.Cut(p, "=")
		n, _ := strconv.Atoi(v)
		switch k {
		case "page":
			page = n
		case "records":
			records = n
		}
	}
	const perPage = 1000
	from := min((page-1)*perPage, records)
	b := fmt.Appendf(nil, `{"total":%d,"records":[`, records)
	for id := from; id < min(from+perPage, records); id++ {
		if id > from {
			b = append(b, ',')
		}
		day := id / perDay
		b = fmt.Appendf(b, `{"id":%d,"type":%q,"status":%q,"created":"2017-%02d-%02dT12:00:00Z"}`, id, kinds[id%3], statuses[id/3%4], 1+day/28%12, 1+day%28)
	}
	return append(b, "]}\n"...)
}

// server starts the server as a process of its own.
func (b *bench) server() (stop func(), err error) {
	c := exec.Command(b.self, "serve")
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.Process.Kill()
		return nil, err
	}
	b.address = strings.TrimSpace(line)
	return func() {
		in.Close()
		time.AfterFunc(time.Second, func() { c.Process.Kill() })
		c.Wait()
	}, nil
}
