package link

import (
	"errors"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// congestionOf returns the congestion control of a connection.
func congestionOf(t *testing.T, c net.Conn) string {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	if e := raw.Control(func(fd uintptr) { name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION) }); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return strings.TrimRight(name, "\x00")
}

// Every congestion control that the kernel has can be that of a socket, and the default of an end, at both sides
// of a connection.
func TestCongestion(t *testing.T) {
	l := joined(t, Conditions{}, Conditions{})
	ln, err := l.B.Listen("tcp", 80, "")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if len(Available()) == 0 {
		t.Skip("the kernel does not say which it has")
	}
	pair := func(asked string) (a, b string) {
		c, err := l.A.Dial(t.Context(), "tcp", 80, asked)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return congestionOf(t, c), congestionOf(t, s)
	}
	for _, name := range Available() {
		if a, _ := pair(name); a != name {
			t.Errorf("asked for %s, got %s", name, a)
		}
	}
	for _, name := range Available() {
		for _, n := range []*Namespace{l.A, l.B} {
			if err := n.Default(name); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := pair(""); a != name || b != name {
			t.Errorf("default %s, got %s and %s", name, a, b)
		}
	}
}

func TestNoSuchCongestion(t *testing.T) {
	var no *NoCongestionControlError
	if err := CheckCongestion("nosuch"); !errors.As(err, &no) || no.Name != "nosuch" {
		t.Errorf("%v", err)
	}
	if err := CheckCongestion(""); err != nil {
		t.Error(err)
	}
}
