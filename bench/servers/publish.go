package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	publishers = 4
	batch      = 64 // messages a publisher sends before it waits for an answer
)

// publish is the clients of the NATS server at a port: some that publish, each a batch at a time, and one that subscribes. It ends with the
// first error.
func publish(port string) error {
	fail := make(chan error)
	for i := range publishers + 1 {
		c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if i == 0 {
			if _, err := fmt.Fprintf(c, "CONNECT {\"verbose\":false}\r\nSUB orders.> 1\r\nPING\r\n"); err != nil {
				return err
			}
			go func() { fail <- drain(c) }()
			continue
		}
		go func() { fail <- send(c, fmt.Sprintf("orders.%d", i)) }()
	}
	return <-fail
}

// drain reads what comes, and answers the server's questions whether it is still there.
func drain(c net.Conn) error {
	r := bufio.NewReaderSize(c, 1<<16)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if string(line) == "PING\r\n" {
			if _, err := io.WriteString(c, "PONG\r\n"); err != nil {
				return err
			}
		}
	}
}

// send publishes: the protocol is at https://docs.nats.io/reference/reference-protocols/nats-protocol.
func send(c net.Conn, subject string) error {
	if _, err := io.WriteString(c, "CONNECT {\"verbose\":false}\r\n"); err != nil {
		return err
	}
	const body = "a message of some sixty-four bytes, as there are many in services"
	messages := strings.Repeat(fmt.Sprintf("PUB %s %d\r\n%s\r\n", subject, len(body), body), batch) + "PING\r\n"
	r := bufio.NewReader(c)
	for {
		if _, err := io.WriteString(c, messages); err != nil {
			return err
		}
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return err
			}
			if line == "PONG\r\n" {
				break
			}
			if strings.HasPrefix(line, "-ERR") {
				return errors.New(strings.TrimSpace(line))
			}
			if line == "PING\r\n" {
				if _, err := io.WriteString(c, "PONG\r\n"); err != nil {
					return err
				}
			}
		}
	}
}
