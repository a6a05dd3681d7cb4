package causal

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// driver keeps a command running that sends the program its load. Whenever it ends it is started again: a client that finds no server
// yet, or loses it because the program is built anew, and one that has sent all that it was asked to.
type driver struct {
	o     *Options
	quit  chan struct{}
	ended chan struct{}

	mu    sync.Mutex
	fault string // what the last run said at its end, if it failed
}

const (
	// driverPause is how soon the command is started again.
	driverPause = 100 * time.Millisecond
	// driverPatience is how soon if it ends as soon as it has begun.
	driverPatience = 500 * time.Millisecond
)

// drive starts o.Load in a shell. What it prints is not shown, for that would come every time it is started.
func drive(o *Options) *driver {
	d := &driver{o: o, quit: make(chan struct{}), ended: make(chan struct{})}
	go d.run()
	return d
}

func (d *driver) run() {
	defer close(d.ended)
	for {
		begun := time.Now()
		var said lastWords
		c := &child{cmd: exec.Command("sh", "-c", d.o.Load)}
		c.cmd.Dir, c.cmd.Env = d.o.Dir, environ(d.o)
		c.cmd.Stdout, c.cmd.Stderr = &said, &said
		err := c.start()
		if err == nil {
			select {
			case <-c.done:
				err = c.err
			case <-d.quit:
			}
			c.end()
		}
		d.mu.Lock()
		if d.fault = ""; err != nil {
			d.fault = strings.TrimSpace(said.line() + " (" + err.Error() + ")")
		}
		d.mu.Unlock()
		pause := driverPause
		if time.Since(begun) < driverPatience {
			pause = driverPatience
		}
		select {
		case <-d.quit:
			return
		case <-time.After(pause):
		}
	}
}

func (d *driver) stop() {
	close(d.quit)
	<-d.ended
}

// trouble says why the last run of the command that ended failed, "" if it did not.
func (d *driver) trouble() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

// lastWords keeps the end of what is written to it.
type lastWords struct{ b []byte }

func (l *lastWords) Write(p []byte) (int, error) {
	const keep = 1 << 10
	l.b = append(l.b, p...)
	if n := len(l.b); n > 4*keep {
		l.b = append(l.b[:0], l.b[n-keep:]...)
	}
	return len(p), nil
}

// line is the last one with something in it.
func (l *lastWords) line() string {
	b := bytes.TrimSpace(l.b)
	return string(bytes.TrimSpace(b[bytes.LastIndexAny(b, "\r\n")+1:]))
}
