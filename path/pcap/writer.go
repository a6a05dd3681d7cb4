package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// WriterOptions says what a [Writer] notes about the capture.
type WriterOptions struct {
	// Interfaces are the names of the places where packets are seen, at least one. They carry raw IP,
	// as a TUN device does.
	Interfaces []string
	Snaplen    int    // bytes of each packet that are kept; 0 is all
	Program    string // who captures
}

// Direction is that of a packet with respect to the host that captures.
type Direction uint8

const (
	Unknown  Direction = iota
	Inbound            // it has come
	Outbound           // it leaves
)

// Writer writes packets of raw IP as pcapng with times in nanoseconds. Its methods may be
// called by several goroutines at a time; the order of packets is that of the calls.
type Writer struct {
	mu      sync.Mutex
	w       *bufio.Writer
	err     error // the first one: nothing is written after it
	snaplen int
	known   int // interfaces
	block   []byte
}

// Types of pcapng blocks and options: draft-ietf-opsawg-pcapng.
const (
	ngSection   = 0x0A0D0D0A
	ngMagic     = 0x1A2B3C4D
	ngInterface = 1
	ngPacket    = 2 // obsolete
	ngSimple    = 3
	ngEnhanced  = 6

	optEnd      = 0
	optComment  = 1
	optUserAppl = 4  // of a section
	optIfName   = 2  // of an interface
	optTsresol  = 9  // of an interface
	optTsoffset = 14 // of an interface
	optEPBFlags = 2  // of an enhanced packet
)

// NewWriter writes the head of a capture. Call Flush at the end, and whenever what was captured
// must not be lost.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	if len(o.Interfaces) == 0 {
		return nil, errors.New("a capture needs the name of an interface at least")
	}
	if o.Snaplen < 0 || o.Snaplen > maxPacket {
		return nil, errors.New("snaplen is out of range")
	}
	p := &Writer{w: bufio.NewWriterSize(w, 1<<16), snaplen: o.Snaplen, known: len(o.Interfaces)}
	if p.snaplen == 0 {
		p.snaplen = maxPacket
	}
	le := binary.LittleEndian
	p.begin(ngSection)
	p.block = le.AppendUint32(p.block, ngMagic)
	p.block = le.AppendUint16(p.block, 1) // version 1.0
	p.block = le.AppendUint16(p.block, 0)
	p.block = le.AppendUint64(p.block, ^uint64(0)) // length not known
	if o.Program != "" {
		p.option(optUserAppl, []byte(o.Program))
		p.option(optEnd, nil)
	}
	p.end()
	for _, name := range o.Interfaces {
		p.begin(ngInterface)
		p.block = le.AppendUint16(p.block, linkRaw)
		p.block = le.AppendUint16(p.block, 0)
		p.block = le.AppendUint32(p.block, uint32(o.Snaplen))
		p.option(optIfName, []byte(name))
		p.option(optTsresol, []byte{9}) // powers of ten
		p.option(optEnd, nil)
		p.end()
	}
	return p, p.Flush()
}

// Packet writes one packet, beginning with its IP header, as seen at the given interface. It keeps nothing of data.
func (p *Writer) Packet(at time.Time, iface int, d Direction, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if iface < 0 || iface >= p.known {
		return errors.New("no such interface in this capture")
	}
	le := binary.LittleEndian
	t := uint64(at.UnixNano())
	kept := data[:min(len(data), p.snaplen)]
	p.begin(ngEnhanced)
	p.block = le.AppendUint32(p.block, uint32(iface))
	p.block = le.AppendUint32(p.block, uint32(t>>32))
	p.block = le.AppendUint32(p.block, uint32(t))
	p.block = le.AppendUint32(p.block, uint32(len(kept)))
	p.block = le.AppendUint32(p.block, uint32(len(data)))
	p.block = append(p.block, kept...)
	p.pad()
	if d != Unknown {
		p.option(optEPBFlags, le.AppendUint32(nil, uint32(d)))
		p.option(optEnd, nil)
	}
	p.end()
	return p.err
}

// Flush hands everything to the writer below.
func (p *Writer) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

func (p *Writer) begin(kind uint32) {
	p.block = binary.LittleEndian.AppendUint32(p.block[:0], kind)
	p.block = append(p.block, 0, 0, 0, 0)
}

func (p *Writer) option(code uint16, value []byte) {
	p.block = binary.LittleEndian.AppendUint16(p.block, code)
	p.block = binary.LittleEndian.AppendUint16(p.block, uint16(len(value)))
	p.block = append(p.block, value...)
	p.pad()
}

func (p *Writer) pad() {
	for len(p.block)%4 != 0 {
		p.block = append(p.block, 0)
	}
}

// end writes the block, with its length at both ends.
func (p *Writer) end() {
	n := uint32(len(p.block) + 4)
	binary.LittleEndian.PutUint32(p.block[4:], n)
	p.block = binary.LittleEndian.AppendUint32(p.block, n)
	if p.err == nil {
		_, p.err = p.w.Write(p.block)
	}
}
