package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/headway-lab/headway/bench/truth/harness"
)

func init() {
	add("peer-inside", 0, peerInside)
	add("packets-inside", 0, packetsInside)
	add("http-inside", 0, httpInside)
	add("http2-process", 0, http2Process)
	add("peer-process", 0, peerProcess)
	add("peer-process-two", 1, peerProcessTwo)
	add("client-process", 0, clientProcess)
	add("client-process-reader", 0, clientProcessReader)
	add("client-process-limit", 1, clientProcessLimit)
	add("client-process-packets", 1, clientProcessPackets)
	add("client-process-packets-both", 1, clientProcessPacketsBoth)
	add("open-loop", 0, openLoop)
	add("open-loop-poisson", 0, openLoopPoisson)
	add("open-loop-process", 0, openLoopProcess)
	add("open-loop-connections", 0, openLoopConnections)
}

// peerInside does A (.5), then asks a peer over loopback TCP that sleeps for .5 and
// answers. The peer is a goroutine of this process.
func peerInside(c harness.Config) {
	l := listen()
	wait := c.Time(.5)
	go func() {
		conn := must(net.Dial("tcp", l.Addr().String()))
		one := make([]byte, 1)
		for {
			mustRead(conn, one)
			time.Sleep(wait)
			mustWrite(conn, one)
		}
	}()
	askPeer(c, must(l.Accept()), .5)
}

// packetsInside asks itself with a packet, at which another goroutine does A (.6) and answers; then it does B (.4).
func packetsInside(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	server := must(net.ListenPacket("udp", ":0"))
	go func() {
		one := make([]byte, 1)
		for {
			_, from, err := server.ReadFrom(one)
			if err != nil {
				fatal(err)
			}
			siteA(na)
			must(server.WriteTo(one, from))
		}
	}()
	conn, one := must(net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", server.LocalAddr().(*net.UDPAddr).Port))), make([]byte, 1)
	for {
		mustWrite(conn, one)
		mustRead(conn, one)
		siteB(nb)
		progress()
	}
}

// httpInside asks itself over HTTP; the handler does A (.6), and who asked B (.4).
func httpInside(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	l := listen()
	go func() {
		fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			siteA(na)
			must(io.WriteString(w, "done"))
		})))
	}()
	for {
		answer := must(http.Get("http://" + l.Addr().String()))
		must(io.Copy(io.Discard, answer.Body))
		answer.Body.Close()
		siteB(nb)
		progress()
	}
}

// http2Process is a server of HTTP/2 over TLS whose client, in another process, keeps ten requests in flight on one connection.
// The handler does A (.6) and B (.4).
func http2Process(c harness.Config) {
	na, nb := c.A(.6), c.B(.4)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		siteA(na)
		siteB(nb)
		must(io.WriteString(w, "done"))
		progress()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	startProcess(c, "http2-process", server.Listener.Addr(), 0)
	select {}
}

// askHTTP2 is the client of http2Process.
func askHTTP2(addr string) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	ask := func() {
		answer := must(client.Get("https://" + addr))
		must(io.Copy(io.Discard, answer.Body))
		answer.Body.Close()
	}
	ask() // opens the connection that all share
	for range 10 {
		go func() {
			for {
				ask()
			}
		}()
	}
	select {}
}

// peerProcess is peerInside with the peer in another process, which keeps the time exactly.
func peerProcess(c harness.Config) {
	askPeer(c, startChild(c, "peer-process", c.Time(.5)), .5)
}

func askPeer(c harness.Config, conn net.Conn, a float64) {
	na, one := c.A(a), make([]byte, 1)
	for {
		siteA(na)
		mustWrite(conn, one)
		mustRead(conn, one)
		progress()
	}
}

// peerProcessTwo is two such goroutines on one processor, as in a proxy: each does A (.3) and asks the peer, which needs .9,
// while the other works.
func peerProcessTwo(c harness.Config) {
	for _, conn := range startClient(c, "peer-process-two", c.Time(.9), 2) {
		go askPeer(c, conn, .3)
	}
	select {}
}

// clientProcess answers a client in another process with A (.4) and B (.2). The client
// waits .4 between an answer and the next request.
func clientProcess(c harness.Config) {
	answer(c, startChild(c, "client-process", c.Time(.4)))
}

func answer(c harness.Config, conn net.Conn) {
	na, nb, one := c.A(.4), c.B(.2), make([]byte, 1)
	for {
		mustRead(conn, one)
		siteA(na)
		siteB(nb)
		mustWrite(conn, one)
		progress()
	}
}

// clientProcessReader is the same with one goroutine that reads and another that works and answers, as in servers of HTTP/2.
func clientProcessReader(c harness.Config) {
	na, nb := c.A(.4), c.B(.2)
	conn := startChild(c, "client-process", c.Time(.4))
	requests := make(chan byte, 16)
	go func() {
		for one := make([]byte, 1); ; {
			mustRead(conn, one)
			requests <- one[0]
		}
	}()
	for request := range requests {
		siteA(na)
		siteB(nb)
		mustWrite(conn, []byte{request})
		progress()
	}
}

// clientProcessLimit is a server at its limit: one processor that does A (.4) and B (.2) for four connections. Their client
// takes them in turn, .2 each, so when an answer has left three requests wait for the server.
func clientProcessLimit(c harness.Config) {
	for _, conn := range startClient(c, "client-process-limit", c.Time(.2), 4) {
		go answer(c, conn)
	}
	select {}
}

// clientProcessPackets does A (.25) on one processor, a goroutine a packet, for three clients that share a socket; each waits
// .75 between an answer and its next request.
func clientProcessPackets(c harness.Config) {
	answerPackets(c, packetsOf(c, "client-process-packets"))
}

// clientProcessPacketsBoth is the same with one of the three clients in this process, which sleeps its .75.
func clientProcessPacketsBoth(c harness.Config) {
	socket, wait := packetsOf(c, "client-process-packets-both"), c.Time(.75)
	go func() {
		conn := must(net.Dial("udp", socket.LocalAddr().String()))
		for one := make([]byte, 1); ; {
			mustWrite(conn, one)
			mustRead(conn, one)
			time.Sleep(wait)
		}
	}()
	answerPackets(c, socket)
}

// packetsOf is a socket to which the clients of that child send; each waits .75 between an answer and its next request.
func packetsOf(c harness.Config, program string) *net.UDPConn {
	hello := startChild(c, program, c.Time(.75))
	at := hello.LocalAddr().(*net.TCPAddr)
	socket := must(net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port}))
	mustWrite(hello, make([]byte, 1))
	return socket
}

// answerPackets does A (.25) for each packet, and answers.
func answerPackets(c harness.Config, socket *net.UDPConn) {
	na := c.A(.25)
	for {
		packet := make([]byte, 1)
		_, client, err := socket.ReadFromUDPAddrPort(packet)
		if err != nil {
			fatal(err)
		}
		go func() {
			siteA(na)
			if _, err := socket.WriteToUDPAddrPort(packet, client); err != nil {
				fatal(err)
			}
			progress()
		}()
	}
}

// openLoop serves what arrives at a random time in each two steps, with A (1): load .5. As many come in any time as in any other, but for
// the first and the last, so that a minute tells their number to a percent.
func openLoop(c harness.Config) {
	rng, slot, length := rand.New(rand.NewPCG(c.Seed, 1)), time.Now(), c.Time(2)
	openAt(c, func() time.Time {
		slot = slot.Add(length)
		return slot.Add(time.Duration(rng.Float64() * float64(length)))
	})
}

// openLoopPoisson is the same with Poisson arrivals, every second step on average.
func openLoopPoisson(c harness.Config) {
	rng, next := rand.New(rand.NewPCG(c.Seed, 1)), time.Now()
	openAt(c, func() time.Time {
		next = next.Add(time.Duration(rng.ExpFloat64() * float64(c.Time(2))))
		return next
	})
}

// openAt serves what arrives by a schedule of absolute times, which waits for nobody.
func openAt(c harness.Config, next func() time.Time) {
	queue := make(chan time.Time, 1<<16)
	go func() {
		for {
			time.Sleep(time.Until(next()))
			arrive(queue)
		}
	}()
	serve(c, queue)
}

// openLoopProcess is openLoopPoisson with the schedule in another process, which keeps it to
// the microsecond; requests come over TCP.
func openLoopProcess(c harness.Config) {
	queue := make(chan time.Time, 1<<16)
	r := bufio.NewReader(startChild(c, "open-loop-process", c.Time(2)))
	go func() {
		for {
			if _, err := r.ReadByte(); err != nil {
				fatal(err)
			}
			arrive(queue)
		}
	}()
	serve(c, queue)
}

// connections is more than arrive while a profile holds them up.
const connections = 512

// openLoopConnections is the same with a connection for each request.
func openLoopConnections(c harness.Config) {
	queue := make(chan time.Time, 1<<16)
	for _, conn := range startClient(c, "open-loop-connections", c.Time(2), connections) {
		go func() {
			for one := make([]byte, 1); ; {
				mustRead(conn, one)
				arrive(queue)
			}
		}()
	}
	serve(c, queue)
}

func arrive(queue chan<- time.Time) {
	requestBegin()
	queue <- time.Now()
}

func serve(c harness.Config, queue <-chan time.Time) {
	na := c.A(1)
	for arrived := range queue {
		siteA(na)
		requestEnd()
		harness.Latency(time.Since(arrived))
		progress()
	}
}

// child is what this binary does in another process, until its parent hangs up.
func child(c harness.Config) {
	if c.Program == "http2-process" {
		askHTTP2(c.Dial)
	}
	conn := must(net.Dial("tcp", c.Dial))
	one := make([]byte, 1)
	switch c.Program {
	case "peer-process":
		for {
			mustRead(conn, one)
			harness.SpinUntil(time.Now().Add(c.Wait))
			mustWrite(conn, one)
		}
	case "client-process":
		for {
			mustWrite(conn, one)
			mustRead(conn, one)
			harness.SpinUntil(time.Now().Add(c.Wait))
		}
	case "open-loop-process":
		arrivals(c, []net.Conn{conn}, one)
	case "open-loop-connections":
		arrivals(c, more(c, conn, connections), one)
	case "peer-process-two":
		answerEach(c, more(c, conn, 2))
	case "client-process-packets", "client-process-packets-both":
		mustRead(conn, one) // the socket is open
		clients := 3
		if c.Program == "client-process-packets-both" {
			clients-- // and one that is not here
		}
		var all []net.Conn
		for range clients {
			socket := must(net.Dial("udp", c.Dial))
			mustWrite(socket, one)
			all = append(all, socket)
		}
		answerEach(c, all)
	case "client-process-limit":
		all := more(c, conn, 4)
		for _, conn := range all {
			mustWrite(conn, one)
		}
		for i := 0; ; i++ {
			conn := all[i%len(all)]
			mustRead(conn, one)
			harness.SpinUntil(time.Now().Add(c.Wait))
			mustWrite(conn, one)
		}
	}
}

// answerEach answers what comes on any of the connections, or asks again, c.Wait later, to the microsecond, without sleeping.
func answerEach(c harness.Config, all []net.Conn) {
	due := make([]time.Time, len(all))
	var raw []syscall.RawConn
	for _, conn := range all {
		raw = append(raw, must(conn.(syscall.Conn).SyscallConn()))
	}
	for one := make([]byte, 1); ; {
		for i, conn := range all {
			if !due[i].IsZero() {
				if !time.Now().Before(due[i]) {
					due[i] = time.Time{}
					mustWrite(conn, one)
				}
				continue
			}
			if err := raw[i].Read(func(fd uintptr) bool {
				n, err := syscall.Read(int(fd), one)
				if n == 1 {
					due[i] = time.Now().Add(c.Wait)
				} else if err != syscall.EAGAIN {
					fatal(fmt.Errorf("read: %d, %v", n, err))
				}
				return true // never wait
			}); err != nil {
				fatal(err)
			}
		}
	}
}

// more connects until there are n connections with the first.
func more(c harness.Config, first net.Conn, n int) []net.Conn {
	all := []net.Conn{first}
	for len(all) < n {
		all = append(all, must(net.Dial("tcp", c.Dial)))
	}
	return all
}

// arrivals sends requests on one connection after the other, at random times of a schedule.
func arrivals(c harness.Config, conns []net.Conn, request []byte) {
	rng, next := rand.New(rand.NewPCG(c.Seed, 1)), time.Now()
	for i := 0; ; i++ {
		next = next.Add(time.Duration(rng.ExpFloat64() * float64(c.Wait)))
		harness.SpinUntil(next)
		mustWrite(conns[i%len(conns)], request)
	}
}

// startChild starts this binary anew and waits for it to connect.
func startChild(c harness.Config, program string, wait time.Duration) net.Conn {
	return startClient(c, program, wait, 1)[0]
}

// startClient is startChild for one that connects n times.
func startClient(c harness.Config, program string, wait time.Duration, n int) (conns []net.Conn) {
	l := listen()
	startProcess(c, program, l.Addr(), wait)
	for range n {
		conns = append(conns, must(l.Accept()))
	}
	return conns
}

// startProcess starts this binary anew, to do what child does with addr, and ends it with this process.
func startProcess(c harness.Config, program string, addr net.Addr, wait time.Duration) {
	cmd := exec.Command(must(os.Executable()), "-program", program, "-dial", addr.String(),
		"-wait", wait.String(), "-seed", fmt.Sprint(c.Seed))
	cmd.Env = harness.ChildEnv(os.Environ())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		fatal(err)
	}
	harness.AtEnd = func() time.Duration {
		cmd.Process.Kill()
		cmd.Wait()
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}

func listen() net.Listener { return must(net.Listen("tcp", "127.0.0.1:0")) }

func mustRead(c io.Reader, b []byte) {
	if _, err := io.ReadFull(c, b); err != nil {
		fatal(err)
	}
}

func mustWrite(c io.Writer, b []byte) {
	if _, err := c.Write(b); err != nil {
		fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		fatal(err)
	}
	return v
}

// fatal ends a child in silence, for its parent has gone, and anything else with a reason.
func fatal(err error) {
	if harness.Finishing() {
		select {} // the child has just been ended
	}
	for _, arg := range os.Args {
		if arg == "-dial" {
			os.Exit(0)
		}
	}
	fmt.Fprintf(os.Stderr, "programs: %v\n", err)
	os.Exit(1)
}
