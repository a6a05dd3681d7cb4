package pcap

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"
)

// The version's round trips are told from what the client sends, also where of each packet only the first
// bytes were captured.
func TestRoundsOfTLS(t *testing.T) {
	const (
		cipher, handshake, data = 20, 22, 23
		fin                     = 40 // bytes of an encrypted Finished
	)
	type record struct{ kind, n int }
	request := record{data, 120}
	for _, c := range []struct {
		name    string
		flights [][]record // of the client; the server answers each in 50 ms
		want    int
	}{
		{"1.3", [][]record{{{handshake, 512}}, {{cipher, 1}, {data, 53}, request}}, 1},
		{"1.3, no records for middleboxes", [][]record{{{handshake, 512}}, {{data, 53}, request}}, 1},
		{"1.3, another hello", [][]record{{{handshake, 512}}, {{cipher, 1}, {handshake, 560}}, {{data, 53}, request}}, 2},
		{"1.3, a hello of two packets", [][]record{{{handshake, 1700}}, {{cipher, 1}, {data, 53}, request}}, 1},
		{"1.2", [][]record{{{handshake, 300}}, {{handshake, 37}, {cipher, 1}, {handshake, fin}}, {request}}, 2},
		{"1.2, the client's certificate", [][]record{{{handshake, 300}}, {{handshake, 1100}, {cipher, 1}, {handshake, fin}}, {request}}, 2},
		{"1.2, resumed", [][]record{{{handshake, 300}}, {{cipher, 1}, {handshake, fin}, request}}, 1},
	} {
		for _, snap := range []int{0, 96 - 14, 20 + 32 + 12} {
			at := modelBegin
			var packets []captured
			client, server := endpointOf(modelReceiver), endpointOf(modelSender)
			put := func(wait time.Duration, down bool, s segment) {
				at += int64(wait)
				s.src, s.dst, s.timestamps = client, server, true
				if down {
					s.src, s.dst = s.dst, s.src
				}
				if s.flags&flagSYN == 0 {
					s.scale, s.window = -1, 60000
				}
				packets = append(packets, captured{at, encode(s, false)})
			}
			put(0, false, segment{flags: flagSYN, seq: 99, mss: 1460, window: 6000})
			put(50*time.Millisecond, true, segment{flags: flagSYN | flagACK, seq: 499, ack: 100, mss: 1460, window: 6000})
			put(0, false, segment{flags: flagACK, seq: 100, ack: 500})
			seq, ack := uint32(100), uint32(500)
			for _, f := range c.flights {
				var b []byte
				send := func() {
					for len(b) > 0 {
						n := min(len(b), 1448)
						put(0, false, segment{flags: flagACK, seq: seq, ack: ack, length: n, payload: b[:n]})
						seq += uint32(n)
						b = b[n:]
					}
				}
				for _, r := range f {
					if r == request { // a packet of its own: the program writes it later
						send()
					}
					b = append(b, byte(r.kind), 3, 3, byte(r.n>>8), byte(r.n))
					b = append(b, bytes.Repeat([]byte{0xc5}, r.n)...)
				}
				send()
				put(50*time.Millisecond, true, segment{flags: flagACK, seq: ack, ack: seq, length: 900, payload: make([]byte, 900)})
				ack += 900
			}
			put(0, false, segment{flags: flagACK, seq: seq, ack: ack})
			var b bytes.Buffer
			w, err := NewWriter(&b, WriterOptions{Interfaces: []string{"model"}, Snaplen: snap})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range packets {
				if err := w.Packet(time.Unix(0, p.at), 0, Unknown, p.data); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			a, err := Analyze(context.Background(), &b, Options{})
			if err != nil || len(a.Connections) != 1 {
				t.Fatal(err)
			}
			x := a.Connections[0]
			want := time.Duration(len(c.flights)-1) * 50 * time.Millisecond
			if x.TLSRounds != c.want || math.Abs(float64(x.TLS-int64(want))) > 1e6 {
				t.Errorf("%s, of each packet %d bytes: %d round trips in %v, want %d in %v", c.name, snap, x.TLSRounds, time.Duration(x.TLS), c.want, want)
			}
		}
	}
}
