package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/effect"
)

// result is what a trial finds.
type result struct {
	Sent, Came int64   // datagrams
	P50, P99   float64 // by how much they were late, or early, ms
	Floor      float64 // p99 of how late a thread is woken that only sleeps, meanwhile, ms
	Bytes      int64   // that the server got of transfers
	Seconds    float64
	Packets    int64 // of both directions, as the client's device counts
	CPU        float64
	Stolen     float64 // ms in which the hypervisor ran others on this machine's processors
}

// The server's ports.
const probePort, flowPort = 4001, 4002

// try does one trial and prints its result.
func try(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	b, err := beds[j.Emulator](j.Part.Conditions, j.Mahimahi)
	if err != nil {
		return err
	}
	r, err := b.run(j.Part)
	b.close()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// run has the client do its task, and the server see what comes of it.
func (b *bed) run(p part) (r result, err error) {
	var probes net.PacketConn
	var flows net.Listener
	err = b.far(func() (err error) {
		if probes, err = net.ListenPacket("udp4", fmt.Sprint(":", probePort)); err == nil {
			flows, err = net.Listen("tcp4", fmt.Sprint(":", flowPort))
		}
		return err
	})
	if err != nil {
		return r, err
	}
	var late []float64
	var wg sync.WaitGroup
	wg.Go(func() { late = receive(probes.(*net.UDPConn), p.Delay) })
	var got atomic.Int64
	wg.Go(func() { sink(flows, &got) })

	p.To = b.addr
	text, err := json.Marshal(p.Task)
	if err != nil {
		return r, err
	}
	cmd := exec.Command("/proc/self/exe", "-worker", string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := b.start(cmd); err != nil {
		return r, err
	}
	lines := bufio.NewReader(out)
	if _, err := fmt.Fscanln(lines, new(string)); err != nil {
		cmd.Wait()
		return r, fmt.Errorf("the client did not begin: %w", err)
	}
	stop := make(chan struct{})
	var woken []float64
	if p.Probes > 0 && p.Count == 0 {
		wg.Go(func() { woken = sleeper(stop) })
	}
	before, begin, robbed := cpu(), time.Now(), stolen()
	if _, err := fmt.Fscanln(lines, &r.Sent, &r.Packets); err != nil {
		cmd.Wait()
		return r, fmt.Errorf("the client did not end: %w", err)
	}
	close(stop)
	r.CPU, r.Seconds, r.Bytes, r.Stolen = cpu()-before, time.Since(begin).Seconds(), got.Load(), stolen()-robbed
	if err := cmd.Wait(); err != nil {
		return r, err
	}
	time.Sleep(p.Delay + 100*time.Millisecond)
	probes.SetReadDeadline(time.Now())
	flows.Close()
	wg.Wait()
	probes.Close()
	r.Came = int64(len(late))
	if len(woken) > 0 {
		slices.Sort(woken)
		r.Floor = woken[len(woken)*99/100]
	}
	if len(late) > 0 {
		slices.Sort(late)
		r.P50, r.P99 = late[len(late)/2], late[len(late)*99/100]
	}
	return r, nil
}

// receive takes datagrams until its deadline, and returns by how much they were late or early in ms, by the kernel's clock when each came.
func receive(c *net.UDPConn, delay time.Duration) (late []float64) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	})
	c.SetReadBuffer(64 << 20)
	b, oob := make([]byte, 2048), make([]byte, 128)
	for {
		n, on, _, _, err := c.ReadMsgUDP(b, oob)
		if err != nil {
			return late
		}
		m, err := unix.ParseSocketControlMessage(oob[:on])
		if err != nil || len(m) == 0 || n < 8 || len(m[0].Data) < 16 {
			continue
		}
		at := (*unix.Timespec)(unsafe.Pointer(&m[0].Data[0])).Nano()
		late = append(late, math.Abs(float64(at-int64(binary.BigEndian.Uint64(b))-int64(delay)))/1e6)
	}
}

// sleeper sleeps for a millisecond again and again and returns how late it was woken, in ms: no emulator that sleeps can do
// better on this machine at this time, unless others have to wait for it.
func sleeper(stop <-chan struct{}) (late []float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for {
		select {
		case <-stop:
			return late
		default:
		}
		begin := time.Now()
		t := unix.NsecToTimespec(int64(time.Millisecond))
		if _, err := unix.Ppoll(nil, &t, nil); err == nil {
			late = append(late, (time.Since(begin)-time.Millisecond).Seconds()*1e3)
		}
	}
}

// sink reads what comes.
func sink(l net.Listener, got *atomic.Int64) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close() // what says that it has ended may be lost with the path
		wg.Go(func() {
			b := make([]byte, 1<<18)
			for {
				n, err := c.Read(b)
				got.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
	}
}

// cpu is the processor time in s of this process and all it has started.
func cpu() float64 {
	dirs, _ := os.ReadDir("/proc")
	parent, ticks := map[int]int{}, map[int]float64{}
	for _, d := range dirs {
		b, err := os.ReadFile("/proc/" + d.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name is in brackets, and may have any in it.
		i := strings.LastIndexByte(string(b), ')')
		var pid, ppid int
		var state string
		var x [9]float64
		var user, system float64
		fmt.Sscan(string(b), &pid)
		if i < 0 {
			continue
		}
		fmt.Sscan(string(b[i+1:]), &state, &ppid, &x[0], &x[1], &x[2], &x[3], &x[4], &x[5], &x[6], &x[7], &x[8], &user, &system)
		parent[pid], ticks[pid] = ppid, user+system
	}
	sum, self := 0., os.Getpid()
	for pid, t := range ticks {
		for p := pid; p > 1; p = parent[p] {
			if p == self {
				sum += t
				break
			}
		}
	}
	return sum / 100 // USER_HZ
}

// stolen is how long, in ms, others have run on this machine's processors, by its hypervisor's account.
func stolen() float64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	var x [8]float64
	fmt.Sscanf(string(b), "cpu %f %f %f %f %f %f %f %f", &x[0], &x[1], &x[2], &x[3], &x[4], &x[5], &x[6], &x[7])
	return x[7] * 10 // USER_HZ
}

// calm is how much of a second, in ms, the processors of a calm machine may be away.
const calm = 5.0

// show prints a part.
func show(p part, names []string, results map[string][]result) {
	type column struct {
		title string
		of    func(r result) float64
	}
	var columns []column
	switch p.Name {
	case "quiet", "busy":
		columns = []column{{"late or early, median, ms", func(r result) float64 { return r.P50 }}, {"late or early, p99, ms", func(r result) float64 { return r.P99 }},
			{"a mere sleeper meanwhile, p99, ms", func(r result) float64 { return r.Floor }}}
	case "bulk":
		columns = []column{{"Gbit/s", func(r result) float64 { return float64(r.Bytes) * 8 / r.Seconds / 1e9 }},
			{"packets/s", func(r result) float64 { return float64(r.Packets) / r.Seconds }}, {"us a packet", func(r result) float64 { return r.CPU / float64(r.Packets) * 1e6 }}}
	case "small":
		columns = []column{{"packets/s through", func(r result) float64 { return float64(r.Came) / r.Seconds }}, {"us a packet", func(r result) float64 { return r.CPU / float64(r.Came) * 1e6 }}}
	case "loss":
		columns = []column{{"lost, %", func(r result) float64 { return 100 * (1 - float64(r.Came)/float64(r.Sent)) }}}
	case "rate":
		columns = []column{{"% of the bottleneck, headers counted", func(r result) float64 { return 100 * float64(r.Bytes) * 1500 / 1448 * 8 / r.Seconds / p.Rate }}}
	}
	fmt.Printf("%s, %d rounds of %v\n", p.Name, len(results[names[0]]), p.Each)
	for _, c := range columns {
		fmt.Printf("  %s\n", c.title)
		base := samples(results[names[0]], c.of)
		for _, name := range names {
			values := samples(results[name], c.of)
			e := effect.Of(values, .95, 1)
			fmt.Printf("    %-14s %9.4g [%.4g, %.4g]", name, e.Value, e.Low, e.High)
			if name != names[0] {
				x := effect.Paired(base, values, .95, 1)
				fmt.Printf("   times %.3g [%.3g, %.3g]", 1+x.Percent/100, 1+x.Low/100, 1+x.High/100)
			}
			fmt.Println()
		}
	}
	if p.Probes > 0 && p.Count == 0 && p.Delay > 0 {
		fmt.Printf("  p99 of the rounds in which the hypervisor ran others for less than %g ms a second, ms\n", calm)
		for _, name := range names {
			var late []float64
			most := 0.
			for _, r := range results[name] {
				most = max(most, r.Stolen/r.Seconds)
				if r.Stolen/r.Seconds < calm {
					late = append(late, r.P99)
				}
			}
			if len(late) < 2 {
				fmt.Printf("    %-14s %d of %d rounds (in the worst %.0f ms)\n", name, len(late), len(results[name]), most)
				continue
			}
			e := effect.Of(late, .95, 1)
			fmt.Printf("    %-14s %9.4g [%.4g, %.4g], %d of %d rounds (in the worst %.0f ms)\n", name, e.Value, e.Low, e.High, len(late), len(results[name]), most)
		}
	}
	for _, name := range names {
		if p.Name == "loss" {
			outside := 0
			for _, r := range results[name] {
				// 99 % of all honest emulators are within 2.58 standard deviations.
				n, q := float64(r.Sent), p.Loss
				if d := float64(r.Sent-r.Came) - n*q; d*d > 2.576*2.576*n*q*(1-q) {
					outside++
				}
			}
			fmt.Printf("  %-14s %d of %d rounds outside the 99 %% interval of the binomial\n", name, outside, len(results[name]))
		}
	}
	fmt.Println()
}

func samples(r []result, of func(result) float64) []float64 {
	var x []float64
	for _, r := range r {
		x = append(x, of(r))
	}
	return x
}
