package tcpinfo

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is a connection over loopback.
func pair(t *testing.T, congestion string) (client, server net.Conn) {
	t.Helper()
	ln, err := Listen(t.Context(), "tcp", "127.0.0.1:0", congestion)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = Dial(t.Context(), "tcp", ln.Addr().String(), congestion); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// The table of fields says the same as the C structure that x/sys has generated from the headers.
func TestFieldsStandWhereTheKernelPutsThem(t *testing.T) {
	goNames := map[string]string{}
	c := reflect.TypeFor[unix.TCPInfo]()
	for i := range c.NumField() {
		goNames[strings.ToLower(c.Field(i).Name)] = c.Field(i).Name
	}
	info := reflect.TypeFor[Info]()
	end := 0
	for _, f := range fields {
		if _, ok := info.FieldByName(f.name); !ok {
			t.Errorf("%s: Info has no such field", f.name)
		}
		if f.at < end-1 && f.size > 1 {
			t.Errorf("%s: out of order", f.name)
		}
		end = f.at + f.size
		name, ok := goNames[f.kernel]
		if !ok {
			if f.at == 6 || f.at == 7 { // bit fields, which Go has none of
				continue
			}
			t.Errorf("tcpi_%s: x/sys has none", f.kernel)
			continue
		}
		x, _ := c.FieldByName(name)
		if int(x.Offset) != f.at || int(x.Type.Size()) != f.size {
			t.Errorf("tcpi_%s: %d bytes at %d, want %d at %d", f.kernel, f.size, f.at, x.Type.Size(), x.Offset)
		}
	}
}

// Every field is set, from its own bytes and in its unit; a shorter answer leaves what it lacks at zero, and says so.
func TestParse(t *testing.T) {
	for n := range 260 {
		b := make([]byte, n)
		for i := range b {
			b[i] = 0xa5
		}
		i := parse(b)
		v := reflect.ValueOf(i)
		missing := i.Missing()
		for _, f := range fields {
			zero := v.FieldByName(f.name).IsZero()
			there := f.at+f.size <= n
			if zero == there && f.name != "FastOpenFailed" || i.Known(f.name) != there || slices.Contains(missing, f.name) == there {
				t.Fatalf("of %d bytes: %s is zero: %v; known: %v", n, f.name, zero, i.Known(f.name))
			}
		}
	}
	b := make([]byte, 256)
	binary.NativeEndian.PutUint32(b[68:], 1500)
	binary.NativeEndian.PutUint32(b[148:], 1<<32-1)
	binary.NativeEndian.PutUint64(b[160:], 125_000)
	binary.NativeEndian.PutUint64(b[104:], 1<<64-1)
	binary.NativeEndian.PutUint32(b[52:], 7)
	i := parse(b)
	if i.RTT != 1500*time.Microsecond || i.MinRTT != 0 || i.DeliveryRate != 1e6 || i.PacingRate != 0 || i.SinceDataReceived != 7*time.Millisecond {
		t.Errorf("%+v", i)
	}
	if i.Known("Nothing") {
		t.Error("an unknown name is known")
	}
}

// Both ends of a transfer say what was transferred.
func TestTransfer(t *testing.T) {
	const size = 3 << 20
	client, server := pair(t, "")
	go func() {
		server.Write(make([]byte, size))
		server.(*net.TCPConn).CloseWrite()
	}()
	if n, err := io.Copy(io.Discard, client); n != size || err != nil {
		t.Fatal(n, err)
	}
	var s Info
	for range 100 { // the last acknowledgement may be on its way
		var err error
		if s, err = Of(server); err != nil {
			t.Fatal(err)
		}
		if s.BytesAcked >= size && s.State == FinWait2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	c, err := Of(client)
	if err != nil {
		t.Fatal(err)
	}
	// The FIN counts as one.
	if s.BytesAcked < size || s.BytesAcked > size+1 || c.BytesReceived < size || c.BytesReceived > size+1 {
		t.Errorf("%d bytes: %d acknowledged, %d received", size, s.BytesAcked, c.BytesReceived)
	}
	if s.BytesSent-s.BytesRetrans != size {
		t.Errorf("%d sent, %d of them again", s.BytesSent, s.BytesRetrans)
	}
	if s.RTT <= 0 || s.RTT > time.Second || s.MinRTT <= 0 || s.MinRTT > s.RTT+time.Millisecond || s.DeliveryRate <= 0 {
		t.Errorf("round trip %v, least %v, busy %v, %g bit/s", s.RTT, s.MinRTT, s.BusyTime, s.DeliveryRate)
	}
	if s.State != FinWait2 || c.State != CloseWait {
		t.Errorf("states: %v, %v", s.State, c.State)
	}
	if s.Options&SACK == 0 || !strings.Contains(s.Options.String(), "sack") || s.DataSegmentsOut == 0 || s.SendWindowScale == 0 {
		t.Errorf("options %v, scale %d, %d segments", s.Options, s.SendWindowScale, s.DataSegmentsOut)
	}
	if s.CongestionWindow < 2 || s.SlowStartThreshold < 2 || s.Flight() != 0 {
		t.Errorf("window %d, threshold %d, in flight %d", s.CongestionWindow, s.SlowStartThreshold, s.Flight())
	}
}

// What the program does not read closes the window, and the kernel says that this is what the sender waits for.
func TestWindowLimited(t *testing.T) {
	client, server := pair(t, "")
	server.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	server.Write(make([]byte, 64<<20))
	i, err := Of(server)
	if err != nil {
		t.Fatal(err)
	}
	if i.WindowLimited < i.BusyTime/2 || i.NotSent == 0 {
		t.Errorf("busy %v, limited by the window %v, %d not sent", i.BusyTime, i.WindowLimited, i.NotSent)
	}
	if i.SendQueued < i.SendBuffer*2/3 || i.SendQueued < i.NotSent {
		t.Errorf("%d queued, %d of them not sent, of at most %d", i.SendQueued, i.NotSent, i.SendBuffer)
	}
	if c, err := Of(client); err != nil || c.Known("ReceiveWindow") && c.ReceiveWindow > 64<<10 {
		t.Errorf("a window of %d after so much unread, %v", c.ReceiveWindow, err)
	}
}

func TestCongestion(t *testing.T) {
	have, err := Available()
	if err != nil || len(have) == 0 {
		t.Fatal(have, err)
	}
	for _, name := range have {
		client, server := pair(t, name)
		for _, c := range []net.Conn{client, server} {
			got, err := CongestionOf(c)
			if err != nil || got.Name != name || (got.BBR != nil) != (name == "bbr") {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if name != "bbr" {
			continue
		}
		go server.Write(make([]byte, 1<<20))
		io.ReadFull(client, make([]byte, 1<<20))
		got, err := CongestionOf(server)
		if err != nil {
			t.Fatal(err)
		}
		// The gains of startup, of draining it and of the steady state.
		if b := got.BBR; b.Bandwidth <= 0 || b.MinRTT <= 0 || b.PacingGain < .3 || b.PacingGain > 3 || b.WindowGain < 1 || b.WindowGain > 3 {
			t.Errorf("%+v", b)
		}
	}
	client, _ := pair(t, "")
	if err := SetCongestion(client, "reno"); err != nil {
		t.Fatal(err)
	}
	if got, _ := CongestionOf(client); got.Name != "reno" {
		t.Error(got)
	}
	if err := SetCongestion(client, "none-such"); err == nil || !strings.Contains(err.Error(), `"none-such"; it has `) {
		t.Error(err)
	}
	if _, err := Listen(t.Context(), "tcp", "127.0.0.1:0", "none-such"); err == nil {
		t.Error("a listener with no such control")
	}
	if parseBBR(make([]byte, 19)) != nil {
		t.Error("a short answer is one")
	}
}

// A recorder covers the whole time in bounded memory, in order.
func TestRecorder(t *testing.T) {
	client, server := pair(t, "")
	r, err := Record(server, Sampling{Every: time.Millisecond, Most: 32})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range 40 {
		server.Write(make([]byte, 1000))
		io.ReadFull(client, make([]byte, 1000))
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(begin)
	course := r.Stop()
	if len(course) < 8 || len(course) > 32 || len(r.Stop()) != len(course) {
		t.Errorf("%d samples", len(course))
	}
	if span := course[len(course)-1].At.Sub(course[0].At); span < took {
		t.Errorf("they cover %v of %v", span, took)
	}
	for i := 1; i < len(course); i++ {
		if course[i].At.Before(course[i-1].At) || course[i].BytesSent < course[i-1].BytesSent {
			t.Errorf("sample %d is out of order", i)
		}
	}
	if last := course[len(course)-1]; last.BytesSent != 40_000 {
		t.Errorf("the last sample has %d bytes", last.BytesSent)
	}
}

func TestRecordedListener(t *testing.T) {
	ln, err := Listen(t.Context(), "tcp", "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []Sample, 1)
	ln = Recorded(ln, Sampling{}, func(_ net.Conn, course []Sample) { got <- course })
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		c.(io.ReaderFrom).ReadFrom(bytes.NewReader(make([]byte, 5000)))
		c.Close()
		c.Close()
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.Copy(io.Discard, c)
	if course := <-got; len(course) < 2 || course[len(course)-1].BytesSent != 5000 {
		t.Errorf("%d samples", len(course))
	}
}

// Below TLS there is the same socket; a pipe has none, and what is closed cannot be read.
func TestWhatHasASocket(t *testing.T) {
	client, _ := pair(t, "")
	if _, err := Of(tls.Client(client, &tls.Config{InsecureSkipVerify: true})); err != nil {
		t.Error(err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, err := Of(a); !errors.Is(err, errNoSocket) {
		t.Error(err)
	}
	if _, err := Record(a, Sampling{}); err == nil {
		t.Error("a pipe is recorded")
	}
	client.Close()
	if _, err := Of(client); err == nil {
		t.Error("a closed connection can be read")
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	if _, err := Of(udp.(net.Conn)); err == nil {
		t.Error("UDP has TCP_INFO")
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Established.String(): "established", State(77).String(): "state 77", Recovery.String(): "recovery",
		CongestionState(9).String(): "congestion state 9", Options(0).String(): "none", (Timestamps | ECN).String(): "timestamps, ecn",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestControlOfNothing(t *testing.T) {
	d := net.Dialer{Control: Control("")}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := d.DialContext(context.Background(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
