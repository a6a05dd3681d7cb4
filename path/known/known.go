// Package known is a suite of transfers that each have one known cause for taking as long as
// they do: real TCP over an emulated link, seeded, with all that a diagnosis could be asked to judge by. A
// diagnosis that cannot tell these apart cannot tell anything.
//
//	for _, t := range known.Suite(1) {
//		r, err := t.Run(ctx, "")
//		d := diagnosis.Diagnose(diagnosis.FromSender(r.Sender, …))
//	}
//
// Each transfer takes a few seconds at most. What a transfer is like is drawn from the
// seed, within ±25 % of what its name says, so that rules can be tried on others than those they were made for.
package known

import (
	"time"

	"github.com/headway-lab/headway/dist"
	"github.com/headway-lab/headway/path/diagnosis"
	"github.com/headway-lab/headway/path/link"
)

// Transfer is one of the suite: a client fetches something from a server, or sends it there.
type Transfer struct {
	Name  string
	Cause diagnosis.Cause
	Seed  uint64

	RTT           time.Duration
	Forward, Back link.Conditions // of the data's direction and of the other; the delay is half the RTT each
	Congestion    string          // of the sender
	Size          int             // bytes
	Upload        bool            // the client is the sender
	Exchanges     int             // one after the other on the same connection; 0 is 1

	TLS                 bool
	DNS, Handshake      time.Duration // what the name server and the handshake take longer
	Think               time.Duration // from the request's arrival to the answer
	InitialWindow       int           // segments; 0 is the kernel's
	SendBuffer, Receive int           // bytes asked for by SO_SNDBUF and SO_RCVBUF; 0 is the kernel's own tuning
	Chunk               int           // bytes that the sender's program writes at once, with Pause between; 0 is all
	Pause               time.Duration
	Halves              bool // what is sent is written in two parts, with Nagle's algorithm, to a receiver that holds back acknowledgements
}

// drawn varies what was asked for.
func drawn(seed uint64, t Transfer) Transfer {
	luck := dist.NewStream(seed, "known: "+t.Name)
	vary := func(x float64) float64 { return x * (.75 + luck.Float64()/2) }
	span := func(d *time.Duration) { *d = time.Duration(vary(float64(*d))) }
	size := func(n *int) { *n = int(vary(float64(*n))) }
	t.Seed = luck.Uint64()
	span(&t.RTT)
	span(&t.DNS)
	span(&t.Handshake)
	span(&t.Think)
	span(&t.Pause)
	size(&t.Size)
	size(&t.SendBuffer)
	size(&t.Receive)
	size(&t.Chunk)
	t.Forward.Loss = vary(t.Forward.Loss)
	t.Forward.Police = vary(t.Forward.Police)
	if t.Forward.Rate == 0 {
		t.Forward.Rate, t.Forward.Queue = 100e6, 1<<20
	} else {
		t.Forward.Rate = vary(t.Forward.Rate)
	}
	t.Forward.Delay, t.Back.Delay = t.RTT/2, t.RTT/2
	return t
}

const ms = time.Millisecond

// Suite is the thirty transfers.
func Suite(seed uint64) []Transfer {
	var all []Transfer
	add := func(t Transfer) { all = append(all, drawn(seed, t)) }

	add(Transfer{Name: "loss 1%, cubic, 50 ms", Cause: diagnosis.Loss, RTT: 50 * ms, Forward: link.Conditions{Loss: .012}, Congestion: "cubic", Size: 700e3})
	add(Transfer{Name: "loss 3%, reno, 30 ms", Cause: diagnosis.Loss, RTT: 30 * ms, Forward: link.Conditions{Loss: .03}, Congestion: "reno", Size: 400e3})
	add(Transfer{Name: "loss in bursts, cubic, 80 ms", Cause: diagnosis.Loss, RTT: 80 * ms, Forward: link.Conditions{Loss: .08, Bursts: 4 * ms}, Congestion: "cubic", Size: 600e3})

	add(Transfer{Name: "receive window, 100 ms", Cause: diagnosis.ReceiveWindow, RTT: 100 * ms, Congestion: "cubic", Size: 400e3, Receive: 16 << 10})
	add(Transfer{Name: "receive window, 40 ms, bbr", Cause: diagnosis.ReceiveWindow, RTT: 40 * ms, Congestion: "bbr", Size: 1200e3, Receive: 24 << 10})
	add(Transfer{Name: "receive window of an upload", Cause: diagnosis.ReceiveWindow, RTT: 60 * ms, Congestion: "cubic", Size: 500e3, Receive: 16 << 10, Upload: true})

	add(Transfer{Name: "send buffer, 120 ms", Cause: diagnosis.SendBuffer, RTT: 120 * ms, Congestion: "cubic", Size: 1500e3, SendBuffer: 128 << 10})
	add(Transfer{Name: "send buffer, 70 ms, reno", Cause: diagnosis.SendBuffer, RTT: 70 * ms, Congestion: "reno", Size: 1500e3, SendBuffer: 96 << 10})
	add(Transfer{Name: "send buffer of an upload", Cause: diagnosis.SendBuffer, RTT: 90 * ms, Congestion: "cubic", Size: 1500e3, SendBuffer: 160 << 10, Upload: true})

	add(Transfer{Name: "slow application, lumps", Cause: diagnosis.Application, RTT: 40 * ms, Congestion: "cubic", Size: 400e3, Chunk: 40e3, Pause: 150 * ms})
	add(Transfer{Name: "slow application, trickle", Cause: diagnosis.Application, RTT: 60 * ms, Congestion: "cubic", Size: 120e3, Chunk: 2000, Pause: 25 * ms})
	add(Transfer{Name: "slow application of an upload", Cause: diagnosis.Application, RTT: 20 * ms, Congestion: "bbr", Size: 500e3, Chunk: 30e3, Pause: 80 * ms, Upload: true})

	add(Transfer{Name: "initial window 1, 150 ms", Cause: diagnosis.InitialWindow, RTT: 150 * ms, Congestion: "cubic", Size: 50e3, InitialWindow: 1})
	add(Transfer{Name: "initial window 2, 100 ms", Cause: diagnosis.InitialWindow, RTT: 100 * ms, Congestion: "reno", Size: 60e3, InitialWindow: 2})

	add(Transfer{Name: "policer, cubic, 40 ms", Cause: diagnosis.Policer, RTT: 40 * ms, Forward: link.Conditions{Police: 4e6, Bucket: 60e3}, Congestion: "cubic", Size: 800e3})
	add(Transfer{Name: "policer, bbr, 60 ms", Cause: diagnosis.Policer, RTT: 60 * ms, Forward: link.Conditions{Police: 6e6, Bucket: 100e3}, Congestion: "bbr", Size: 1200e3})
	add(Transfer{Name: "policer, reno, 25 ms", Cause: diagnosis.Policer, RTT: 25 * ms, Forward: link.Conditions{Police: 8e6, Bucket: 40e3}, Congestion: "reno", Size: 1200e3})

	add(Transfer{Name: "bufferbloat, cubic, 30 ms", Cause: diagnosis.Bufferbloat, RTT: 30 * ms, Forward: link.Conditions{Rate: 5e6, Queue: 500e3}, Congestion: "cubic", Size: 1000e3})
	add(Transfer{Name: "bufferbloat, reno, 20 ms", Cause: diagnosis.Bufferbloat, RTT: 20 * ms, Forward: link.Conditions{Rate: 8e6, Queue: 600e3}, Congestion: "reno", Size: 1600e3})
	add(Transfer{Name: "bufferbloat of an upload", Cause: diagnosis.Bufferbloat, RTT: 40 * ms, Forward: link.Conditions{Rate: 3e6, Queue: 400e3}, Congestion: "cubic", Size: 600e3, Upload: true})

	add(Transfer{Name: "reordering, cubic, 30 ms", Cause: diagnosis.Reordering, RTT: 30 * ms, Forward: link.Conditions{Reorder: .02, ReorderBy: 120 * ms}, Congestion: "cubic", Size: 1200e3})
	add(Transfer{Name: "reordering, reno, 60 ms", Cause: diagnosis.Reordering, RTT: 60 * ms, Forward: link.Conditions{Reorder: .05, ReorderBy: 80 * ms}, Congestion: "reno", Size: 400e3})

	add(Transfer{Name: "delayed acks of answers", Cause: diagnosis.DelayedAcks, RTT: 10 * ms, Congestion: "cubic", Size: 1000, Exchanges: 20, Halves: true})
	add(Transfer{Name: "delayed acks of requests", Cause: diagnosis.DelayedAcks, RTT: 20 * ms, Congestion: "cubic", Size: 600, Exchanges: 20, Halves: true, Upload: true})

	add(Transfer{Name: "dns, 60 ms", Cause: diagnosis.DNS, RTT: 60 * ms, Congestion: "cubic", Size: 30e3, DNS: 700 * ms})
	add(Transfer{Name: "dns, 15 ms, tls", Cause: diagnosis.DNS, RTT: 15 * ms, Congestion: "cubic", Size: 200e3, DNS: 400 * ms, TLS: true})
	add(Transfer{Name: "tls, 30 ms", Cause: diagnosis.TLS, RTT: 30 * ms, Congestion: "cubic", Size: 100e3, TLS: true, Handshake: 500 * ms})
	add(Transfer{Name: "tls, 80 ms", Cause: diagnosis.TLS, RTT: 80 * ms, Congestion: "bbr", Size: 20e3, TLS: true, Handshake: 900 * ms})
	add(Transfer{Name: "server think time, 25 ms", Cause: diagnosis.ServerThinking, RTT: 25 * ms, Congestion: "cubic", Size: 100e3, Think: 500 * ms})
	add(Transfer{Name: "server think time, 90 ms, tls", Cause: diagnosis.ServerThinking, RTT: 90 * ms, Congestion: "cubic", Size: 20e3, Think: 1200 * ms, TLS: true})
	return all
}

// Beyond is transfers that the causes of the suite could be mistaken for: slow start as it should be, a path that is full
// without a long queue, and losses by chance that are many.
func Beyond(seed uint64) []Transfer {
	var all []Transfer
	for _, t := range []Transfer{
		{Name: "slow start, 100 ms", Cause: diagnosis.SlowStart, RTT: 100 * ms, Congestion: "cubic", Size: 150e3},
		{Name: "bottleneck, cubic, 50 ms", Cause: diagnosis.Bottleneck, RTT: 50 * ms, Forward: link.Conditions{Rate: 10e6, Queue: 40e3}, Congestion: "cubic", Size: 1500e3},
		{Name: "bottleneck, bbr, 60 ms", Cause: diagnosis.Bottleneck, RTT: 60 * ms, Forward: link.Conditions{Rate: 8e6, Queue: 30e3}, Congestion: "bbr", Size: 1200e3},
		{Name: "many losses, cubic, 12 ms", Cause: diagnosis.Loss, RTT: 12 * ms, Forward: link.Conditions{Loss: .02}, Congestion: "cubic", Size: 1500e3},
		{Name: "many losses, reno, 20 ms", Cause: diagnosis.Loss, RTT: 20 * ms, Forward: link.Conditions{Loss: .015}, Congestion: "reno", Size: 1500e3},
	} {
		all = append(all, drawn(seed, t))
	}
	return all
}
