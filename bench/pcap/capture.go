package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
)

// flow is a bulk transfer.
type flow struct {
	client, server [6]byte // address and port
	seq, ack       uint32
	id             uint16
}

const (
	mss    = 1448
	burst  = 32 // segments a round trip
	lossOf = 20 // one burst of so many loses a segment
)

// writer makes a capture of the classic format with times in µs, of Ethernet.
type writer struct {
	w       *bufio.Writer
	now     uint64 // µs
	snaplen int
	bytes   int64
	packets int64
	buf     [1600]byte
}

// generate makes a capture of about size bytes, from the sender's end, and says how many packets it has and
// how many of them are segments sent again.
func generate(name string, size int64, snaplen, flows int) (packets, resent int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := &writer{w: bufio.NewWriterSize(f, 1<<20), now: 1_700_000_000e6, snaplen: snaplen}
	var head [24]byte
	binary.LittleEndian.PutUint32(head[0:], 0xa1b2c3d4)
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], 65535)
	binary.LittleEndian.PutUint32(head[20:], 1)
	w.w.Write(head[:])
	luck := rand.New(rand.NewPCG(1, 2))
	all := make([]*flow, flows)
	for i := range all {
		p := uint16(10000 + i)
		all[i] = &flow{client: [6]byte{10, 0, 0, 1, byte(p >> 8), byte(p)}, server: [6]byte{10, 0, 0, 2, 0, 80}, seq: luck.Uint32(), ack: 1000}
		fl := all[i]
		w.segment(fl, false, fl.ack-1, 0, 2, 0, nil)
		w.segment(fl, true, fl.seq-1, fl.ack, 18, 0, nil)
		w.now += 20_000
		w.segment(fl, false, fl.ack, fl.seq, 16, 0, nil)
	}
	for w.bytes < size {
		// A round trip of 20 ms in which every flow sends a burst.
		for _, fl := range all {
			lost := -1
			if luck.IntN(lossOf) == 0 {
				lost = luck.IntN(burst - 4)
			}
			for k := range burst {
				w.segment(fl, true, fl.seq+uint32(k*mss), fl.ack, 16, mss, nil)
			}
			w.now += 20_000 / uint64(len(all))
			for k := range burst {
				switch {
				case lost < 0 || k < lost:
					if k%2 == 1 {
						w.segment(fl, false, fl.ack, fl.seq+uint32((k+1)*mss), 16, 0, nil)
					}
				case k > lost:
					hole := fl.seq + uint32(lost*mss)
					w.segment(fl, false, fl.ack, hole, 16, 0, []uint32{hole + mss, fl.seq + uint32((k+1)*mss)})
				}
			}
			if lost >= 0 {
				w.segment(fl, true, fl.seq+uint32(lost*mss), fl.ack, 16, mss, nil)
				resent++
				w.now += 20_000
				w.segment(fl, false, fl.ack, fl.seq+burst*mss, 16, 0, nil)
			}
			fl.seq += burst * mss
		}
	}
	return w.packets, resent, w.w.Flush()
}

// segment writes one of the server's (down), or of the client's.
func (w *writer) segment(f *flow, down bool, seq, ack uint32, flags byte, length int, sack []uint32) {
	w.now++
	var opt []byte
	if flags&2 != 0 {
		opt = append(opt, 2, 4, 1460>>8, 1460&255, 4, 2, 3, 3, 7, 1)
	}
	if sack != nil {
		opt = append(opt, 1, 1, 5, 10)
		opt = binary.BigEndian.AppendUint32(opt, sack[0])
		opt = binary.BigEndian.AppendUint32(opt, sack[1])
	}
	opt = append(opt, 1, 1, 8, 10)
	opt = binary.BigEndian.AppendUint32(opt, uint32(w.now/1000))
	opt = binary.BigEndian.AppendUint32(opt, uint32(w.now/1000-20))
	for len(opt)%4 != 0 {
		opt = append(opt, 1)
	}
	total := 40 + len(opt) + length
	b := w.buf[:16+14+total]
	kept := 14 + total
	if w.snaplen > 0 {
		kept = min(kept, w.snaplen)
	}
	le, be := binary.LittleEndian, binary.BigEndian
	le.PutUint32(b, uint32(w.now/1e6))
	le.PutUint32(b[4:], uint32(w.now%1e6))
	le.PutUint32(b[8:], uint32(kept))
	le.PutUint32(b[12:], uint32(14+total))
	e := b[16:]
	copy(e, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00")
	ip := e[14:]
	ip[0], ip[1], ip[6], ip[7], ip[8], ip[9], ip[10], ip[11] = 0x45, 0, 0x40, 0, 64, 6, 0, 0
	be.PutUint16(ip[2:], uint16(total))
	if down {
		f.id++
		be.PutUint16(ip[4:], f.id)
	} else {
		be.PutUint16(ip[4:], uint16(w.packets|1))
	}
	src, dst := f.client, f.server
	if down {
		src, dst = dst, src
	}
	copy(ip[12:], src[:4])
	copy(ip[16:], dst[:4])
	tcp := ip[20:]
	copy(tcp, src[4:])
	copy(tcp[2:], dst[4:])
	be.PutUint32(tcp[4:], seq)
	be.PutUint32(tcp[8:], ack)
	tcp[12], tcp[13] = byte((20+len(opt))/4<<4), flags
	be.PutUint16(tcp[14:], 4096)
	be.PutUint32(tcp[16:], 0)
	copy(tcp[20:], opt)
	w.w.Write(b[:16+kept])
	w.bytes += int64(16 + kept)
	w.packets++
}
