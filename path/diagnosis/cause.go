// Package diagnosis says what limited a transfer, in words and with the evidence: from
// TCP_INFO of its connection, or from a capture.
//
// It prefers "not clear" to a wrong name.
package diagnosis

// Cause is what limited a transfer.
type Cause string

// The causes that it can name.
const (
	NotClear       Cause = "not clear"
	Loss           Cause = "loss"                 // packets were lost on the path
	ReceiveWindow  Cause = "receive window"       // the receiver allowed no more in flight
	SendBuffer     Cause = "send buffer"          // the sender's socket could hold no more
	Application    Cause = "slow application"     // the sender's program did not write
	InitialWindow  Cause = "small initial window" // slow start from a window smaller than usual
	Policer        Cause = "policer"              // more than a rate is dropped, nothing is queued
	Bufferbloat    Cause = "bufferbloat"          // a long queue at the bottleneck: delay instead of loss
	Reordering     Cause = "reordering"           // late packets were taken for lost
	DelayedAcks    Cause = "delayed acks"         // the sender waited for acknowledgements held back
	DNS            Cause = "dns"                  // the name took long
	TLS            Cause = "tls"                  // the handshake took long
	ServerThinking Cause = "server think time"    // the first byte took long
	SlowStart      Cause = "slow start"           // the transfer ended before its window was open
	Bottleneck     Cause = "bottleneck"           // the path was full
	Distance       Cause = "distance"             // the round trips that connecting and asking need
)
