package pcap

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxPacket is the longest packet that is believed: more than any link carries (libpcap's
// MAXIMUM_SNAPLEN, but for those of USB and D-Bus).
const maxPacket = 262144

// A block of pcapng is read whole up to this size; what is longer is skipped, but for a
// packet, which is then damage.
const maxBlock = maxPacket + 1<<16

// Packet is one of a capture.
type Packet struct {
	Time      int64  // ns since 1970
	Data      []byte // what was kept of it; valid until the next packet is read
	Length    int    // bytes on the wire
	Link      uint16 // link type, as tcpdump.org lists them
	Interface int    // of the capture, from 0
	Direction Direction
	Number    int64 // of the packet in the file, from 1
}

// ErrNoCapture says that a file is neither pcap nor pcapng.
var ErrNoCapture = errors.New("it is no capture of packets: want pcap or pcapng, as they are or compressed by gzip, bzip2 or zstd")

// Damage is where a capture cannot be read any further. What came before it is good.
type Damage struct {
	Offset int64 // in bytes from the beginning, of what decompression gave
	Packet int64 // packets that were read before it
	What   string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("the capture is damaged at byte %d, after packet %d: %s", d.Offset, d.Packet, d.What)
}

// Reader reads packets of a capture one after the other.
type Reader struct {
	r       *bufio.Reader
	offset  int64
	number  int64
	closers []func()
	next    func() (Packet, error)

	order  binary.ByteOrder
	nano   bool // classic: times in ns
	extra  int  // classic: bytes of a packet's head beyond 16
	link   uint16
	ifaces []iface // of the section
	spare  []byte
}

// iface is an interface of pcapng.
type iface struct {
	link    uint16
	snaplen uint32
	resol   byte
	offset  int64 // s
	number  int   // in the file
}

// NewReader looks what r is. Close gives back what decompression needs; r is the caller's.
func NewReader(r io.Reader) (*Reader, error) {
	p := &Reader{r: bufio.NewReaderSize(r, maxBlock+64)}
	if err := p.decompress(); err != nil {
		p.Close()
		return nil, err
	}
	head, err := p.r.Peek(4)
	if len(head) < 4 {
		p.Close()
		if err != nil && ofReading(err) {
			return nil, err
		}
		return nil, ErrNoCapture
	}
	big, little := binary.BigEndian.Uint32(head), binary.LittleEndian.Uint32(head)
	if big == ngSection {
		p.next = p.block
		// The first block must be whole: else this is something else.
		if b, _ := p.r.Peek(12); len(b) < 12 || byteOrder(b[8:]) == nil {
			p.Close()
			return nil, ErrNoCapture
		}
		return p, nil
	}
	for order, magic := range map[binary.ByteOrder]uint32{binary.BigEndian: big, binary.LittleEndian: little} {
		switch magic {
		case 0xa1b2c3d4:
			p.order = order
		case 0xa1b23c4d:
			p.order, p.nano = order, true
		case 0xa1b2cd34: // A. Kuznetsov's, of old distributions
			p.order, p.extra = order, 8
		}
	}
	if p.order == nil {
		p.Close()
		return nil, ErrNoCapture
	}
	b, _ := p.r.Peek(24)
	if len(b) < 24 {
		p.Close()
		return nil, ErrNoCapture
	}
	p.link = uint16(p.order.Uint32(b[20:])) // the upper bits tell of checksums
	p.skip(24)
	p.next = p.record
	return p, nil
}

// Close frees memory.
func (p *Reader) Close() {
	for _, f := range p.closers {
		f()
	}
	p.closers = nil
}

// decompress puts a decompressor before r if it needs one.
func (p *Reader) decompress() error {
	head, _ := p.r.Peek(4)
	var z io.Reader
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		g, err := gzip.NewReader(p.r)
		if err != nil {
			return fmt.Errorf("%w (%w)", ErrNoCapture, err)
		}
		z = g
	case len(head) >= 3 && string(head[:3]) == "BZh":
		z = bzip2.NewReader(p.r)
	case len(head) == 4 && binary.LittleEndian.Uint32(head) == 0xFD2FB528:
		d, err := zstd.NewReader(p.r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return fmt.Errorf("%w (%w)", ErrNoCapture, err)
		}
		p.closers = append(p.closers, d.Close)
		z = d
	default:
		return nil
	}
	p.r = bufio.NewReaderSize(z, maxBlock+64)
	return nil
}

// Next returns the next packet. At the end the error is io.EOF; where the capture cannot be
// read any further it is a [Damage], or the error of the reader below.
func (p *Reader) Next() (Packet, error) {
	q, err := p.next()
	if err == nil {
		p.number++
		q.Number = p.number
	}
	return q, err
}

func (p *Reader) damage(format string, args ...any) error {
	return &Damage{p.offset, p.number, fmt.Sprintf(format, args...)}
}

// peek returns the next n bytes. Their end before that is damage, unless there is nothing at all.
func (p *Reader) peek(n int, of string) ([]byte, error) {
	b, err := p.r.Peek(n)
	switch {
	case err == nil:
		return b, nil
	case len(b) == 0 && err == io.EOF:
		return nil, io.EOF
	case err == io.EOF:
		return nil, p.damage("it ends within %s, of which %d of %d bytes are there", of, len(b), n)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.damage("the compressed file ends early")
	default:
		if ofReading(err) {
			return nil, fmt.Errorf("reading after packet %d: %w", p.number, err)
		}
		return nil, p.damage("%v", err)
	}
}

// ofReading says that an error is that of a file or a pipe, not of what it holds.
func ofReading(err error) bool {
	var system interface{ Timeout() bool } // errors of the system have it
	return errors.As(err, &system)
}

// skip goes on by n bytes.
func (p *Reader) skip(n int64) error {
	for n > 0 {
		step := min(n, 1<<30)
		k, err := p.r.Discard(int(step))
		p.offset += int64(k)
		if err != nil {
			return p.damage("it ends within a block of which %d bytes are missing", n-int64(k))
		}
		n -= step
	}
	return nil
}

// record is the next packet of the classic format.
func (p *Reader) record() (Packet, error) {
	p.done()
	head := 16 + p.extra
	b, err := p.peek(head, "the head of a packet")
	if err != nil {
		return Packet{}, err
	}
	sec, sub := int64(p.order.Uint32(b)), int64(p.order.Uint32(b[4:]))
	kept, length := p.order.Uint32(b[8:]), p.order.Uint32(b[12:])
	if kept > maxPacket {
		return Packet{}, p.damage("it says that the next packet has %d bytes", kept)
	}
	b, err = p.peek(head+int(kept), "a packet")
	if err != nil {
		return Packet{}, err
	}
	if !p.nano {
		sub *= 1000
	}
	q := Packet{Time: sec*1e9 + sub, Data: b[head:], Length: int(min(max(length, kept), 1<<30)), Link: p.link}
	p.spare = b
	return q, nil
}

// done goes on past what the last packet lies in: its bytes must stay until the next is asked for.
func (p *Reader) done() {
	if len(p.spare) > 0 {
		p.r.Discard(len(p.spare)) // they have been peeked at, so they are there
		p.offset += int64(len(p.spare))
		p.spare = nil
	}
}
