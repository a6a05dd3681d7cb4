package capture

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/pcap"
)

func TestMain(m *testing.M) {
	link.EnterOrExit()
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// Both ends see the transfer, each every byte of it, and nothing else.
func TestCapture(t *testing.T) {
	l, err := link.New(link.Conditions{}, link.Conditions{})
	if errors.Is(err, link.ErrForbidden) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	var captures []*Capture
	for name, ns := range map[string]*link.Namespace{"client": l.A, "server": l.B} {
		c, err := Start(ns, filepath.Join(dir, name), name)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, c)
	}
	ln, err := l.B.Listen("tcp4", 80, "")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err == nil {
			c.Write(bytes.Repeat([]byte("headway "), 10_000))
			c.Close()
		}
	}()
	c, err := l.A.Dial(t.Context(), "tcp4", 80, "")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); n != 80_000 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	c.Close()
	for _, c := range captures {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var sent []uint64
	for _, name := range []string{"client", "server"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a, err := pcap.Analyze(t.Context(), f, pcap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Connections) != 1 || len(a.Warnings) > 0 {
			t.Fatalf("%s: %d connections, %v", name, len(a.Connections), a.Warnings)
		}
		// A busy machine acknowledges late, and the last segment is sent again.
		if c := a.Connections[0]; c.Down().Bytes != 80_000 || c.Down().Sent < 80_000 || c.Finished != 2 || c.Server != netip.AddrPortFrom(l.B.Addr, 80) {
			t.Errorf("%s: %d bytes of %d sent from %v, %d ends finished", name, c.Down().Bytes, c.Down().Sent, c.Server, c.Finished)
		}
		sent = append(sent, uint64(a.Connections[0].Down().Sent))
	}
	if sent[0] != sent[1] || sent[0] > 100_000 {
		t.Errorf("on a path without loss the client has seen %d bytes and the server %d", sent[0], sent[1])
	}
}
