package powerdns

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ListenUnix opens a unix socket at a path, for its owner and group. A socket that a process
// left there which is no more is removed; one that is served is not.
func ListenUnix(path string) (net.Listener, error) {
	if len(path) > 100 {
		return nil, fmt.Errorf("powerdns: %s: a socket's path may have 100 bytes", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("powerdns: %s is there and is no socket", path)
		}
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close()
			return nil, fmt.Errorf("powerdns: %s: %w", path, syscall.EADDRINUSE)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(path)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("powerdns: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		l.Close()
		return nil, fmt.Errorf("powerdns: %w", err)
	}
	return l, nil
}

// maxPeers is how many connections a socket serves. PowerDNS has one for each of its threads
// and caches, a few dozen at most.
const maxPeers = 256

// ServeUnix serves the unix connector until the listener is closed, and then ends the
// connections.
func (b *Backend) ServeUnix(l net.Listener) error {
	var mu sync.Mutex
	var work sync.WaitGroup
	open := map[net.Conn]struct{}{}
	defer func() {
		mu.Lock()
		for c := range open {
			c.SetReadDeadline(time.Now()) // after the call it is at
		}
		mu.Unlock()
		work.Wait()
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("powerdns: %w", err)
		}
		mu.Lock()
		if len(open) >= maxPeers {
			mu.Unlock()
			c.Close()
			continue
		}
		open[c] = struct{}{}
		mu.Unlock()
		work.Add(1)
		go func() {
			defer work.Done()
			b.converse(c)
			c.Close()
			mu.Lock()
			delete(open, c)
			mu.Unlock()
		}()
	}
}

// converse answers calls, a line each. What is no call ends the connection.
func (b *Backend) converse(c net.Conn) {
	in := bufio.NewScanner(c)
	in.Buffer(make([]byte, 0, 4096), maxCall)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		var r request
		answer := no(errForm.Error())
		err := json.Unmarshal(in.Bytes(), &r)
		if err == nil {
			answer = b.do(r)
		}
		line, jsonErr := json.Marshal(answer)
		if jsonErr != nil {
			return
		}
		c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if _, werr := c.Write(append(line, '\n')); werr != nil || err != nil {
			return
		}
	}
}
