package pcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"
)

// seeds are captures to begin with.
func seeds(f *testing.F) [][]byte {
	le := order(binary.LittleEndian)
	m := model{segments: 20, mss: 100, delay: 10 * time.Millisecond, stamps: true, ids: true, lose: some(map[int]int{3: 1, 19: 1})}
	var b bytes.Buffer
	packets := m.run()
	writeCapture(f, &b, packets)
	all := [][]byte{b.Bytes()}
	var records [][]byte
	for _, p := range packets {
		records = append(records, p.data)
	}
	return append(all, classic(le, 0xa1b2c3d4, linkRaw, 0, records...), classic(le, 0xa1b23c4d, linkEthernet, 0, records[0]))
}

// FuzzReader: whatever the bytes are, reading ends, and what it gives is within bounds.
func FuzzReader(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		defer r.Close()
		for {
			p, err := r.Next()
			if err != nil {
				break
			}
			if len(p.Data) > maxPacket || p.Length < len(p.Data) && p.Time != NoTime {
				t.Fatalf("%d bytes of %d", len(p.Data), p.Length)
			}
		}
	})
}

// FuzzDecode: whatever a packet holds, lengths are not negative and the payload is not longer than said.
func FuzzDecode(f *testing.F) {
	f.Add(uint16(linkRaw), encode(segment{src: endpointOf(modelSender), dst: endpointOf(modelReceiver), length: 5, scale: -1, timestamps: true, sacks: 2}, false), 0)
	f.Add(uint16(linkRaw), encode(segment{flags: flagSYN, mss: 5, scale: 3}, true), 9)
	f.Add(uint16(linkEthernet), append(make([]byte, 12), 0x81, 0, 0, 1, 8, 0, 0x45), 1500)
	f.Fuzz(func(t *testing.T, link uint16, b []byte, beyond int) {
		var s segment
		if decode(Packet{Link: link, Data: b, Length: len(b) + max(beyond, 0)%maxPacket}, &s) != skipNone {
			return
		}
		if s.length < 0 || len(s.payload) > s.length || s.sacks > len(s.sack) {
			t.Fatalf("%+v", s)
		}
	})
}

// FuzzAnalyze: whatever a capture holds, the analysis ends, and its report can be shown.
func FuzzAnalyze(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Analyze(context.Background(), bytes.NewReader(b), Options{Connections: 4})
		if err != nil && !errors.Is(err, ErrNoCapture) {
			t.Fatal(err)
		}
		if err == nil {
			checkSane(t, a)
		}
	})
}

// FuzzSegments: whatever the segments of a connection say, and at whatever times. The bytes are instructions, ten each.
func FuzzSegments(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x92\x00\x00\x00\x01\x00\x00\x00\x00\x01\x10\x05\x00\x00\x00\x00\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a := NewAnalyzer(Options{})
		at := int64(1e18)
		for n := 0; len(b) >= 10 && n < 5000; b, n = b[10:], n+1 {
			s := segment{scale: -1, flags: b[0] & 0x7f, window: uint16(b[1]), seq: uint32(b[2])<<24 | uint32(b[3])<<4, ack: uint32(b[4])<<24 | uint32(b[5])<<4, length: int(b[6]) * int(b[6]), proto: protoTCP}
			s.src, s.dst = endpointOf(modelSender), endpointOf(modelReceiver)
			if b[0]&0x80 != 0 {
				s.src, s.dst = s.dst, s.src
			}
			at += int64(int8(b[7])) * 1e6
			s.at = at
			s.id = uint16(b[8])
			if b[8]&1 != 0 {
				s.timestamps, s.tsval, s.tsecr = true, uint32(b[7]), uint32(b[9])
			}
			s.sacks = int(b[9]) % 4
			for i := range s.sacks {
				s.sack[i] = [2]uint32{s.ack + uint32(b[9])<<i, s.ack + uint32(b[8])<<(4+i)}
			}
			if s.flags&flagSYN != 0 {
				s.mss, s.scale, s.sackOK = uint16(b[9]), int8(b[8]%15), true
			}
			s.payload = make([]byte, min(s.length, 16))
			for i := range s.payload {
				s.payload[i] = b[9] + byte(i)*b[8]
			}
			if c := a.connection(&s); c != nil {
				c.take(&s)
			}
		}
		checkSane(t, a.Finish())
	})
}

// checkSane holds figures against what no connection can do.
func checkSane(t *testing.T, a *Analysis) {
	for _, c := range a.Connections {
		for i := range c.half {
			h := &c.half[i]
			if h.Bytes < 0 || h.Spurious > h.AllResent() || h.MinRTT < 0 || h.active < 0 || h.Reordered < 0 || c.Wait < 0 {
				t.Fatalf("%v: %+v", c, h.Flow)
			}
			for l, s := range h.spent {
				if s < 0 {
					t.Fatalf("%v took %d ns", Limit(l), s)
				}
			}
		}
		c.Evidence()
		r := a.Report(View{Connections: []*Connection{c}})
		r.Command = []string{"headway"}
		var b bytes.Buffer
		if err := r.JSON(&b); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Report(View{}).Validate(); err != nil {
		t.Fatal(err)
	}
}

// FuzzDNS: whatever a message holds, reading it ends.
func FuzzDNS(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x02bc\x00\x00\x01\x00\x01"), []byte("\x00\x01\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x01a\x02bc\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01"))
	f.Fuzz(func(t *testing.T, q, a []byte) {
		var r resolver
		client, server := endpointOf(modelReceiver), endpoint{modelSender.Addr().As16(), 53}
		r.packet(&segment{at: 1e9, src: client, dst: server, payload: q})
		r.packet(&segment{at: 2e9, src: server, dst: client, payload: a})
		for addr, l := range r.answered {
			if l.Took != 1e9 || r.find(addr, 3e9) != l || r.find(addr, 3e9) != nil {
				t.Fatalf("%+v", l)
			}
		}
	})
}

// FuzzFilter: whatever a filter says, it is one or an error.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"443", "10.0.0.0/8,[::1]:80", "::1", "x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if keep, err := ParseFilter(s); err == nil {
			keep(modelSender, modelReceiver)
		}
	})
}
