package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/stage"
)

// On a terminal there is a bar, which is gone at the end; what the program and
// the warnings say stays above it.
func TestDisplayOnTerminal(t *testing.T) {
	terminal, read := openTerminal(t)
	d := newDisplay(terminal, false)
	if d.bars == nil {
		t.Fatal("a terminal gets no bar")
	}
	d.event(stage.Event{Phase: "build", Text: "go build ./srv"})
	d.event(stage.Event{Phase: "experiment", Text: "main.work 50 %", Elapsed: 30 * time.Second, Total: time.Minute})
	fmt.Fprintln(d.program, "the program speaks")
	d.event(stage.Event{Text: "the clock is coarse", Warning: true})
	time.Sleep(500 * time.Millisecond) // the bar is drawn every 150 ms
	d.close()
	d.say("wrote page.html")
	fmt.Fprintln(d.program, "the program's last words")
	terminal.Close()
	screen := read()
	for _, want := range []string{"experiment", "of 1m0s  main.work 50 %", "the program speaks\r\n", "headway: warning: the clock is coarse\r\n", "headway: wrote page.html\r\n", "last words\r\n"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the terminal lacks %q", want)
		}
	}
	// What follows the last erasure is what remains.
	_, rest, _ := cutLast(screen, "\x1b[J")
	if strings.Contains(rest, "experiment") {
		t.Errorf("the bar remains: %q", rest)
	}
	if t.Failed() {
		t.Logf("%q", screen)
	}
}

func TestDisplayQuietOnTerminal(t *testing.T) {
	terminal, read := openTerminal(t)
	d := newDisplay(terminal, true)
	d.event(stage.Event{Phase: "build", Text: "go build ./srv"})
	d.say("wrote page.html")
	d.event(stage.Event{Text: "the clock is coarse", Warning: true})
	d.close()
	terminal.Close()
	if screen := read(); screen != "headway: warning: the clock is coarse\r\n" {
		t.Errorf("quiet says %q", screen)
	}
}

// openTerminal opens a pseudo-terminal of 100 columns; read waits until it is closed.
func openTerminal(t *testing.T) (terminal *os.File, read func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	screen := make(chan string)
	go func() {
		var all []byte
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			all = append(all, b[:n]...)
			if err != nil { // EIO once the terminal is closed
				screen <- string(all)
				return
			}
		}
	}()
	return terminal, func() string { return <-screen }
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
