// Package pcap reads captures of packets, and says of every TCP connection in them what
// happened: how fast it was over time, what was sent again and why, the round trips, the
// windows, the stalls, and what limited it when. It also writes captures.
//
//	a, err := pcap.Analyze(r, pcap.Options{})
//	for _, c := range a.Connections {
//		fmt.Println(c, c.Evidence())
//	}
//
// A capture may be from the sender's end, the receiver's, or from between: the handshake
// tells which. What the capture does not carry is NaN, never 0.
//
// The methods are those of the literature; each is named where it stands. The chief ones:
// Paxson, "Automated packet trace analysis of TCP implementations" (1997), for inference
// from a trace; Zhang, Breslau, Paxson and Shenker, "On the characteristics and origins of
// Internet flow rates" (2002, T-RAT), for what limits a flow; Allman, Eddy and Ostermann,
// "Estimating loss rates with TCP" (2003), for loss; Flach and others, "An Internet-wide
// analysis of traffic policing" (2016), for policers; RFC 6675 and 8985 for how senders
// recover, RFC 3522 and 3708 for what was sent again in vain.
package pcap
