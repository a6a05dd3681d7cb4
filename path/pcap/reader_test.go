package pcap

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// read is every packet of a capture, as strings, and how it ended.
func read(t testing.TB, b []byte) ([]string, error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []string
	for {
		p, err := r.Next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return all, err
		}
		at := "no time"
		if p.Time != NoTime {
			at = time.Unix(0, p.Time).UTC().Format("15:04:05.000000000")
		}
		all = append(all, fmt.Sprintf("%d %s link %d if %d dir %d %x of %d", p.Number, at, p.Link, p.Interface, p.Direction, p.Data, p.Length))
	}
}

// classic makes a capture of the classic format.
func classic(o binary.AppendByteOrder, magic uint32, link uint32, extra int, records ...[]byte) []byte {
	b := o.AppendUint32(nil, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = o.AppendUint32(b, 65535)
	b = o.AppendUint32(b, link)
	for i, r := range records {
		b = o.AppendUint32(b, uint32(60+i))
		b = o.AppendUint32(b, 999)
		b = o.AppendUint32(b, uint32(len(r)))
		b = o.AppendUint32(b, uint32(len(r)+5))
		b = append(b, make([]byte, extra)...)
		b = append(b, r...)
	}
	return b
}

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// block is one of pcapng.
func ngBlock(o order, kind uint32, body ...[]byte) []byte {
	var all []byte
	for _, b := range body {
		all = append(all, b...)
	}
	for len(all)%4 != 0 {
		all = append(all, 0)
	}
	b := o.AppendUint32(nil, kind)
	b = o.AppendUint32(b, uint32(len(all)+12))
	b = append(b, all...)
	return o.AppendUint32(b, uint32(len(all)+12))
}

func u16s(o order, x ...uint16) (b []byte) {
	for _, v := range x {
		b = o.AppendUint16(b, v)
	}
	return b
}

func u32s(o order, x ...uint32) (b []byte) {
	for _, v := range x {
		b = o.AppendUint32(b, v)
	}
	return b
}

func ngHead(o order) []byte {
	return ngBlock(o, ngSection, u32s(o, ngMagic), u16s(o, 1, 0), u32s(o, 0xffffffff, 0xffffffff))
}

func TestReadFormats(t *testing.T) {
	le, be := order(binary.LittleEndian), order(binary.BigEndian)
	micro := []string{"1 00:01:00.000999000 link 1 if 0 dir 0 aabb of 7", "2 00:01:01.000999000 link 1 if 0 dir 0 cc of 6"}
	nano := []string{"1 00:01:00.000000999 link 101 if 0 dir 0 aabb of 7"}
	ng := func(o order) []byte {
		return bytes.Join([][]byte{
			ngHead(o),
			ngBlock(o, ngInterface, u16s(o, 1, 0), u32s(o, 0)), // µs by default
			ngBlock(o, ngInterface, u16s(o, 101, 0), u32s(o, 3), u16s(o, optTsresol, 1), []byte{9, 0, 0, 0}, u16s(o, 14, 8), func() []byte { return o.AppendUint64(nil, 3600) }(), u16s(o, 0, 0)),
			ngBlock(o, ngInterface, u16s(o, 113, 0), u32s(o, 0), u16s(o, optTsresol, 1), []byte{0x80 | 10, 0, 0, 0}), // 1/1024 s
			ngBlock(o, 0x0BAD, []byte("a block that nobody knows")),
			ngBlock(o, ngEnhanced, u32s(o, 0, 0, 60_000_001, 2, 9), []byte{1, 2, 0, 0}),
			ngBlock(o, ngEnhanced, u32s(o, 1, 13, uint32(60_000_000_007-13<<32), 1, 1), []byte{3, 0, 0, 0}, u16s(o, 2, 4), u32s(o, 2), u16s(o, 0, 0)),
			ngBlock(o, ngEnhanced, u32s(o, 2, 0, 1024*60+512, 1, 1), []byte{4, 0, 0, 0}),
			ngBlock(o, ngPacket, u16s(o, 1, 0), u32s(o, 0, 5, 1, 1), []byte{5, 0, 0, 0}),
			ngBlock(o, ngSimple, u32s(o, 3), []byte{6, 7, 8, 0}),
		}, nil)
	}
	want := []string{
		"1 00:01:00.000001000 link 1 if 0 dir 0 0102 of 9",
		"2 01:01:00.000000007 link 101 if 1 dir 2 03 of 1",
		"3 00:01:00.500000000 link 113 if 2 dir 0 04 of 1",
		"4 01:00:00.000000005 link 101 if 1 dir 0 05 of 1",
		"5 no time link 1 if 0 dir 0 060708 of 3",
	}
	var second []string
	for i, s := range append(append([]string{}, want...), want...) {
		_, rest, _ := strings.Cut(s, " ")
		second = append(second, fmt.Sprint(i+1, " ", rest))
	}
	packed := func(f func(io.Writer) io.WriteCloser, b []byte) []byte {
		var z bytes.Buffer
		w := f(&z)
		w.Write(b)
		w.Close()
		return z.Bytes()
	}
	gz := func(b []byte) []byte {
		return packed(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, b)
	}
	zst := func(b []byte) []byte {
		return packed(func(w io.Writer) io.WriteCloser { e, _ := zstd.NewWriter(w); return e }, b)
	}
	a, b := []byte{0xaa, 0xbb}, []byte{0xcc}
	for name, test := range map[string]struct {
		file []byte
		want []string
	}{
		"µs, little endian":    {classic(le, 0xa1b2c3d4, 1, 0, a, b), micro},
		"µs, big endian":       {classic(be, 0xa1b2c3d4, 1, 0, a, b), micro},
		"with checksum length": {classic(le, 0xa1b2c3d4, 0x34000001, 0, a, b), micro},
		"ns, little endian":    {classic(le, 0xa1b23c4d, 101, 0, a), nano},
		"ns, big endian":       {classic(be, 0xa1b23c4d, 101, 0, a), nano},
		"of old distributions": {classic(le, 0xa1b2cd34, 1, 8, a, b), micro},
		"no packets":           {classic(le, 0xa1b2c3d4, 1, 0), nil},
		"ng, little endian":    {ng(le), want},
		"ng, big endian":       {ng(be), want},
		"two sections":         {append(ng(le), ng(be)...), second},
		"gzip":                 {gz(classic(le, 0xa1b2c3d4, 1, 0, a, b)), micro},
		"zstd":                 {zst(ng(le)), want},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, test.file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
			if strings.Contains(name, "z") {
				return
			}
			// Cut off anywhere, what is whole is read, and where it ends is said.
			for n := range test.file {
				part, err := read(t, test.file[:n])
				if errors.Is(err, ErrNoCapture) {
					if n >= 28 {
						t.Fatalf("the first %d bytes are no capture", n)
					}
					continue
				}
				if len(part) > 0 && cmp.Diff(test.want[:len(part)], part) != "" || len(part) > len(test.want) {
					t.Fatalf("the first %d bytes: %q", n, part)
				}
				var damage *Damage
				if err != nil && !errors.As(err, &damage) {
					t.Fatalf("the first %d bytes: %v", n, err)
				}
			}
		})
	}
}

func TestTimesOfInterfaces(t *testing.T) {
	for _, test := range []struct {
		i    iface
		t    uint64
		want int64
	}{
		{iface{resol: 0}, 7, 7e9},
		{iface{resol: 3}, 1, 1e6},
		{iface{resol: 6}, 1e15, 1e18},
		{iface{resol: 12}, 5_000_000, 5000},
		{iface{resol: 28}, math.MaxUint64, 1},
		{iface{resol: 0x80}, 3, 3e9},
		{iface{resol: 0x80 | 30}, 1 << 29, 5e8},
		{iface{resol: 0x80 | 63}, 1 << 62, 5e8},
		{iface{resol: 0x80 | 64}, 1 << 63, 5e8},
		{iface{resol: 0x80 | 127}, math.MaxUint64, 0},
		{iface{resol: 0}, math.MaxUint64, math.MaxInt64},
		{iface{resol: 0x80}, math.MaxUint64, math.MaxInt64},
		{iface{resol: 6, offset: -1}, 0, -1e9},
		{iface{resol: 6, offset: math.MaxInt64}, 5, 5000},
	} {
		if got := test.i.time(uint32(test.t>>32), uint32(test.t)); got != test.want {
			t.Errorf("%d in units of %#x with offset %d: %d ns, want %d", test.t, test.i.resol, test.i.offset, got, test.want)
		}
	}
}

func TestDamage(t *testing.T) {
	le := order(binary.LittleEndian)
	good := classic(le, 0xa1b2c3d4, 1, 0, []byte{1}, []byte{2})
	huge := le.AppendUint32(append([]byte{}, good...), 0)
	huge = append(huge, u32s(le, 0, 0xfffffff0, 7)...)
	ng := append(ngHead(le), ngBlock(le, ngInterface, u16s(le, 1, 0), u32s(le, 0))...)
	packet := ngBlock(le, ngEnhanced, u32s(le, 0, 0, 1, 1, 1), []byte{1, 0, 0, 0})
	with := func(more ...[]byte) []byte {
		return append(append(append([]byte{}, ng...), packet...), bytes.Join(more, nil)...)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(good)
	w.Close()
	broken := append([]byte{}, z.Bytes()...)
	broken[len(broken)-6] ^= 0xff // the checksum
	for name, test := range map[string]struct {
		file    []byte
		packets int
		want    string
	}{
		"too long a packet":     {huge, 2, "says that the next packet has 4294967280 bytes"},
		"ends in a packet":      {good[:len(good)-1], 1, "ends within a packet"},
		"ends in a head":        {good[:len(good)-8], 1, "ends within the head of a packet"},
		"unknown interface":     {with(ngBlock(le, ngEnhanced, u32s(le, 7, 0, 1, 1, 1), []byte{1, 0, 0, 0})), 1, "interface that was not described"},
		"longer than its block": {with(ngBlock(le, ngEnhanced, u32s(le, 0, 0, 1, 100, 100), []byte{1})), 1, "longer than its block"},
		"two lengths":           {with(packet[:len(packet)-4], u32s(le, 99)), 1, "36 bytes at its head and 99 at its end"},
		"odd length":            {with(u32s(le, 6, 13)), 1, "says that the next block has 13 bytes"},
		"short gzip":            {z.Bytes()[:z.Len()-9], 0, "compressed file ends early"},
		"gzip's checksum":       {broken, 2, "gzip: invalid checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			packets, err := read(t, test.file)
			var damage *Damage
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want a Damage: %s", err, test.want)
			}
			if len(packets) < test.packets {
				t.Errorf("%d packets before it, want %d", len(packets), test.packets)
			}
			a, err := Analyze(context.Background(), bytes.NewReader(test.file), Options{})
			if err != nil || len(a.Warnings) == 0 || !strings.Contains(a.Warnings[0], test.want) {
				t.Errorf("the analysis warns %q, %v", a.Warnings, err)
			}
		})
	}
	for _, no := range []string{"", "abc", "GIF89a.....................", "\x1f\x8bnonsense", "BZh9nonsense", "\x28\xb5\x2f\xfdnonsense", "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00........."} {
		if _, err := Analyze(context.Background(), strings.NewReader(no), Options{}); !errors.Is(err, ErrNoCapture) {
			t.Errorf("%q: %v, want ErrNoCapture", no, err)
		}
	}
}

// failing breaks off like a disk does.
type failing struct{ r io.Reader }

func (f failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err == io.EOF {
		err = &brokenDisk{}
	}
	return n, err
}

type brokenDisk struct{}

func (*brokenDisk) Error() string { return "input/output error" }
func (*brokenDisk) Timeout() bool { return false }

func TestReadingFails(t *testing.T) {
	b := classic(binary.LittleEndian, 0xa1b2c3d4, 1, 0, []byte{1})
	a, err := Analyze(context.Background(), failing{bytes.NewReader(b)}, Options{})
	if want := (*brokenDisk)(nil); !errors.As(err, &want) || a.Packets != 1 {
		t.Errorf("%d packets, %v", a.Packets, err)
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, WriterOptions{Interfaces: []string{"one", "two"}, Snaplen: 4, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := range 100 {
				if err := w.Packet(time.Unix(int64(i), 123456789), k%2, Outbound, []byte{byte(k), 1, 2, 3, 4, 5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Packet(time.Now(), 2, Unknown, nil); err == nil {
		t.Error("a packet of an interface that there is not")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	all, err := read(t, b.Bytes())
	if err != nil || len(all) != 400 {
		t.Fatalf("%d packets, %v", len(all), err)
	}
	for _, s := range all {
		if !strings.Contains(s, ".123456789 link 101") || !strings.HasSuffix(s, "010203 of 6") || !strings.Contains(s, "dir 2") {
			t.Fatal(s)
		}
	}
	if _, err := NewWriter(&b, WriterOptions{}); err == nil {
		t.Error("a capture of no interface")
	}
	if w, err := NewWriter(&full{64}, WriterOptions{Interfaces: []string{"x"}}); err == nil {
		t.Error("a full disk is not noticed:", w)
	}
}

// full takes so many bytes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return 0, errors.New("no space left on device")
	}
	f.room -= len(b)
	return len(b), nil
}

func TestDecode(t *testing.T) {
	ip4 := encode(segment{src: endpointOf(modelSender), dst: endpointOf(modelReceiver), flags: flagACK, seq: 7, ack: 9, window: 5, length: 3, timestamps: true, tsval: 11, tsecr: 12, scale: -1, id: 77, ecn: 3}, false)
	six := segment{flags: flagSYN, seq: 7, mss: 1440, scale: 9, sackOK: true}
	six.src.addr[0], six.dst.addr[15] = 0x20, 1
	ip6 := encode(six, true)
	with := func(head string, ip []byte) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(head, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return append(b, ip...)
	}
	mac := "020000000001 020000000002"
	zero := append([]byte{}, ip4...)
	zero[2], zero[3] = 0, 0
	extended := append(append(append([]byte{}, ip6[:6]...), 0, 64), ip6[8:40]...) // hop by hop, destination, then TCP
	extended = append(extended, 60, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0)
	extended = append(extended, ip6[40:]...)
	binary.BigEndian.PutUint16(extended[4:], uint16(len(extended)-40))
	fragment := append([]byte{}, ip4...)
	fragment[7] = 1
	for name, test := range map[string]struct {
		link uint16
		b    []byte
		want skip
	}{
		"raw":                  {linkRaw, ip4, ""},
		"raw, IPv6":            {linkRaw, ip6, ""},
		"IPv4":                 {linkIPv4, ip4, ""},
		"IPv6 with extensions": {linkIPv6, extended, ""},
		"Ethernet":             {linkEthernet, with(mac+"0800", ip4), ""},
		"Ethernet, padded":     {linkEthernet, append(with(mac+"0800", ip4), make([]byte, 9)...), ""},
		"VLAN":                 {linkEthernet, with(mac+"8100 0005 0800", ip4), ""},
		"two VLANs":            {linkEthernet, with(mac+"88a8 0005 8100 0006 86dd", ip6), ""},
		"PPPoE":                {linkEthernet, with(mac+"8864 11000001 0030 0021", ip4), ""},
		"MPLS":                 {linkEthernet, with(mac+"8847 00001000 00002140", ip4), ""},
		"null":                 {linkNull, with("02000000", ip4), ""},
		"loop":                 {linkLoop, with("0000001e", ip6), ""},
		"cooked":               {linkSLL, with("0000 0001 0006 020000000001 0000 0800", ip4), ""},
		"cooked 2":             {linkSLL2, with("0800 0000 00000001 0001 00 06 0200000000010000", ip4), ""},
		"PPP":                  {linkPPP, with("ff03 0021", ip4), ""},
		"segmented later":      {linkRaw, zero, ""},
		"ARP":                  {linkEthernet, with(mac+"0806", ip4), skipOther},
		"another link":         {147, ip4, skipLink},
		"later fragment":       {linkRaw, fragment, skipFragment},
		"cut":                  {linkRaw, ip4[:30], skipCut},
		"nothing":              {linkRaw, nil, skipCut},
	} {
		t.Run(name, func(t *testing.T) {
			var s segment
			if got := decode(Packet{Time: 5, Link: test.link, Data: test.b, Length: len(test.b)}, &s); got != test.want {
				t.Fatalf("%q, want %q", got, test.want)
			}
			if test.want != "" {
				return
			}
			if s.seq != 7 || s.at != 5 {
				t.Errorf("%+v", s)
			}
			if s.flags == flagACK && (s.length != 3 || len(s.payload) != 3 || s.tsval != 11 || s.tsecr != 12 || s.id != 77 || s.ecn != 3 || s.src.AddrPort() != modelSender) {
				t.Errorf("%+v", s)
			}
			if s.flags == flagSYN && (s.length != 0 || s.mss != 1440 || s.scale != 9 || !s.sackOK) {
				t.Errorf("%+v", s)
			}
		})
	}
	// What is cut by the snaplen keeps its length.
	var s segment
	if why := decode(Packet{Link: linkRaw, Data: ip4[:52], Length: len(ip4)}, &s); why != "" || s.length != 3 || len(s.payload) != 0 || !s.timestamps {
		t.Errorf("%q %+v", why, s)
	}
}
