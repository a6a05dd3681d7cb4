package pcap

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/path/diagnosis"
)

// The captures in testdata are of Linux's TCP over an emulated link of which is known what it lost and held
// back, each from both ends; of every packet the first 72 bytes.
func stored(t *testing.T, name string) *Connection {
	f, err := os.Open(filepath.Join("testdata", name+".pcapng.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := Analyze(context.Background(), f, Options{})
	if err != nil || len(a.Connections) != 1 || len(a.Warnings) > 0 {
		t.Fatalf("%v, %d connections, %q", err, len(a.Connections), a.Warnings)
	}
	return a.Connections[0]
}

func TestKernel(t *testing.T) {
	for _, test := range []struct {
		name string
		lost int64
		want diagnosis.Cause
	}{
		{"loss", 10, diagnosis.Loss},
		{"reordering", 0, diagnosis.Reordering},
		{"delayed-acks", 0, diagnosis.DelayedAcks},
		{"initial-window", 0, diagnosis.InitialWindow},
	} {
		for _, side := range []string{"sender", "receiver"} {
			t.Run(test.name+"/"+side, func(t *testing.T) {
				c := stored(t, test.name+"-"+side)
				if lost, _, _, _ := c.Main().Lost(); lost != test.lost {
					t.Errorf("%d lost, the link lost %d", lost, test.lost)
				}
				if d := diagnosis.Diagnose(c.Evidence()); d.Cause != test.want {
					t.Errorf("%s: %s", d.Cause, d.Sentence)
				}
				if got := string(c.Side()); got != side {
					t.Errorf("from the %s's end", got)
				}
			})
		}
	}
}

// What both ends see is the same transfer.
func TestEndsAgree(t *testing.T) {
	for _, name := range []string{"loss", "reordering", "initial-window"} {
		s, r := stored(t, name+"-sender"), stored(t, name+"-receiver")
		a, b := s.Main(), r.Main()
		if a.Bytes != b.Bytes || a.AllResent() != b.AllResent() || a.Spurious != b.Spurious || a.Initial != b.Initial {
			t.Errorf("%s: sender %d bytes, %d sent again, %d in vain, %d initial; receiver %d, %d, %d, %d", name, a.Bytes, a.AllResent(), a.Spurious, a.Initial, b.Bytes, b.AllResent(), b.Spurious, b.Initial)
		}
		if d := math.Abs(float64(a.MinRTT-b.MinRTT)) / float64(a.MinRTT); d > .05 {
			t.Errorf("%s: the least round trip is %v and %v", name, time.Duration(a.MinRTT), time.Duration(b.MinRTT))
		}
	}
}

// shark is what tshark says of a capture: how many packets have each mark, and the round trips in s of those that
// acknowledge data of the main direction.
func shark(t *testing.T, file string, server string) (marks map[string]int64, rtts []float64) {
	program, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	fields := []string{"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "zero_window", "lost_segment"}
	args := []string{"-r", file, "-T", "fields", "-E", "occurrence=f", "-o", "tcp.relative_sequence_numbers:FALSE", "-e", "ip.src", "-e", "tcp.analysis.ack_rtt", "-e", "tcp.ack", "-e", "tcp.window_size_value", "-e", "tcp.len"}
	for _, f := range fields {
		args = append(args, "-e", "tcp.analysis."+f)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		t.Skipf("tshark does not run here: %v", err)
	}
	const first = 5
	marks = map[string]int64{}
	last := ""
	for line := range strings.Lines(string(out)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != first+len(fields) {
			t.Fatalf("tshark says %q", line)
		}
		if x, err := strconv.ParseFloat(row[1], 64); err == nil && row[0] != server {
			rtts = append(rtts, x)
		}
		// Duplicate acknowledgements by Wireshark's definition: tshark itself marks not all of them. Ours must have something
		// outstanding, and no DSACK.
		if row[0] != server && row[4] == "0" {
			if now := row[2] + " " + row[3]; now == last {
				marks["duplicate_ack"]++
			} else {
				last = now
			}
		}
		for i, f := range fields {
			if row[first+i] != "" {
				marks[f]++
			}
		}
	}
	return marks, rtts
}

// Wireshark calls a segment sent again "out of order" where it comes sooner than a round trip after the gap
// showed, whoever sent it when; so the two together are compared: everything that is not in sequence.
func TestAgainstTshark(t *testing.T) {
	compare := func(t *testing.T, file, server string, c *Connection, zero int64) {
		marks, rtts := shark(t, file, server)
		f := c.Main()
		// tshark marks packets, also of the other direction; fast and spurious ones are marked as such and as retransmissions.
		if got, want := f.AllResent()+f.Reordered, marks["retransmission"]+marks["out_of_order"]; got != want {
			t.Errorf("%d sent again and %d late; tshark has %v", f.AllResent(), f.Reordered, marks)
		}
		if got, want := f.DupAcks, marks["duplicate_ack"]; math.Abs(float64(got-want)) > .02*float64(want)+float64(f.DSACKs)+1 {
			t.Errorf("%d duplicate acknowledgements; tshark has %d", got, want)
		}
		if zero >= 0 && marks["zero_window"] != zero {
			t.Errorf("%d packets with a window of zero; tshark has %d", zero, marks["zero_window"])
		}
		least := quantile(rtts, 0)
		if got := float64(c.main().far) / 1e9; math.Abs(got-least) > .02*least+2e-6 {
			t.Errorf("the least round trip from here is %g s, tshark has %g s", got, least)
		}
	}
	for _, name := range []string{"loss-sender", "loss-receiver", "reordering-receiver"} {
		t.Run(name, func(t *testing.T) {
			c := stored(t, name)
			compare(t, filepath.Join("testdata", name+".pcapng.gz"), c.Server.Addr().String(), c, -1)
		})
	}
	t.Run("model", func(t *testing.T) {
		m := model{segments: 200, mss: 1000, delay: 15 * time.Millisecond, stamps: true, ids: true, lose: some(map[int]int{20: 2, 40: 1, 41: 1, 150: 1}), isn: math.MaxUint32 - 70_000}
		file := filepath.Join(t.TempDir(), "model.pcapng")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		packets := m.run()
		writeCapture(t, f, packets)
		f.Close()
		compare(t, file, modelSender.Addr().String(), analyzed(t, packets), 0)
	})
}

// A receiver that closes its window and opens it again.
func TestZeroWindow(t *testing.T) {
	at := modelBegin
	var packets []captured
	put := func(wait time.Duration, down bool, s segment) {
		at += int64(wait)
		s.src, s.dst, s.scale = endpointOf(modelReceiver), endpointOf(modelSender), max(s.scale, -1)
		if s.flags&flagSYN == 0 {
			s.scale = -1
		}
		if down {
			s.src, s.dst = s.dst, s.src
		}
		packets = append(packets, captured{at, encode(s, false)})
	}
	const ms = time.Millisecond
	put(0, false, segment{flags: flagSYN, seq: 99, mss: 1000, window: 4000})
	put(0, true, segment{flags: flagSYN | flagACK, seq: 499, ack: 100, mss: 1000, window: 4000})
	put(40*ms, false, segment{flags: flagACK, seq: 100, ack: 500, window: 4000})
	put(0, false, segment{flags: flagACK, seq: 100, ack: 500, window: 4000, length: 10})
	for round := range 3 {
		seq := uint32(500 + 4000*round)
		for k := range 4 {
			put(0, true, segment{flags: flagACK, seq: seq + uint32(1000*k), ack: 110, window: 4000, length: 1000})
		}
		put(40*ms, false, segment{flags: flagACK, seq: 110, ack: seq + 4000, window: 0})
		put(200*ms, false, segment{flags: flagACK, seq: 110, ack: seq + 4000, window: 4000})
	}
	c := analyzed(t, packets)
	f := c.Main()
	if f.ZeroWindows != 3 || f.ZeroWindow != int64(600*ms) {
		t.Errorf("%d windows of zero for %v", f.ZeroWindows, time.Duration(f.ZeroWindow))
	}
	if all := f.Limits(); len(all) == 0 || all[0].Limit != Receiver || all[0].Time < int64(400*ms) {
		t.Errorf("limits %v", all)
	}
	if f.AllResent() != 0 || f.DupAcks != 0 {
		t.Errorf("%d sent again, %d duplicate acknowledgements", f.AllResent(), f.DupAcks)
	}
	file := filepath.Join(t.TempDir(), "zero.pcapng")
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	writeCapture(t, w, packets)
	w.Close()
	if marks, _ := shark(t, file, ""); marks["zero_window"] != 3 || marks["retransmission"] != 0 {
		t.Errorf("tshark has %v", marks)
	}
}

// What comes before the data: a name, a handshake, a server that thinks.
func TestPhases(t *testing.T) {
	at := modelBegin
	var packets []captured
	const ms = time.Millisecond
	client, server := endpointOf(modelReceiver), endpointOf(modelSender)
	put := func(wait time.Duration, down bool, s segment) {
		at += int64(wait)
		s.src, s.dst = client, server
		if down {
			s.src, s.dst = s.dst, s.src
		}
		if s.flags&flagSYN == 0 {
			s.scale = -1
			s.window = 60000
		}
		packets = append(packets, captured{at, encode(s, false)})
	}
	dns := func(wait time.Duration, down bool, b string) {
		at += int64(wait)
		s := segment{src: endpoint{client.addr, 5353}, dst: endpoint{server.addr, 53}}
		if down {
			s.src, s.dst = s.dst, s.src
		}
		udp := []byte{byte(s.src.port >> 8), byte(s.src.port), byte(s.dst.port >> 8), byte(s.dst.port), 0, byte(8 + len(b)), 0, 0}
		packets = append(packets, captured{at, encodeIP(s, false, protoUDP, append(udp, b...))})
	}
	record := func(kind byte, n int) []byte {
		return append([]byte{kind, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...)
	}
	question := "\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01"
	dns(0, false, question)
	dns(100*ms, false, question) // asked again
	dns(150*ms, true, strings.Replace(question, "\x01\x00\x00\x01\x00\x00", "\x81\x80\x00\x01\x00\x01", 1)+"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01")
	put(5*ms, false, segment{flags: flagSYN, seq: 99, mss: 1000, window: 6000})
	put(30*ms, true, segment{flags: flagSYN | flagACK, seq: 499, ack: 100, mss: 1000, window: 6000})
	put(0, false, segment{flags: flagACK, seq: 100, ack: 500})
	seq, ack := uint32(100), uint32(500)
	say := func(wait time.Duration, down bool, b []byte) {
		s := segment{flags: flagACK, seq: seq, ack: ack, length: len(b), payload: b}
		if down {
			s.seq, s.ack = ack, seq
			ack += uint32(len(b))
		} else {
			seq += uint32(len(b))
		}
		put(wait, down, s)
	}
	say(2*ms, false, record(22, 300))                                                       // ClientHello
	say(430*ms, true, append(append(record(22, 90), record(20, 1)...), record(23, 600)...)) // ServerHello to Finished, of TLS 1.3
	say(3*ms, false, append(append(record(20, 1), record(23, 53)...), record(23, 120)...))  // Finished and the request
	say(31*ms, true, record(23, 200))                                                       // a session ticket
	say(0, false, nil)
	say(250*ms, true, record(23, 900)) // the answer
	say(1*ms, true, record(23, 700))
	say(0, false, nil)
	c := analyzed(t, packets)
	e := c.Evidence()
	for _, x := range []struct {
		name string
		got  diagnosis.Value
		want float64
	}{
		{"DNS", e.DNS, .25}, {"connect", e.Connect, .03}, {"TLS", e.TLS, .435}, {"rounds of TLS", e.TLSRounds, 1},
		{"wait", e.Wait, .281}, {"transfer", e.Transfer, .001}, {"exchanges", e.Exchanges, 1},
	} {
		if got := x.got.Or(-1); math.Abs(got-x.want) > 2e-4 {
			t.Errorf("%s: %g, want %g", x.name, got, x.want)
		}
	}
	if c.Lookup == nil || c.Lookup.Tries != 2 || c.Lookup.Name != "www.example" {
		t.Errorf("%+v", c.Lookup)
	}
}
