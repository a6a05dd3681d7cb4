package tcpinfo

import (
	"fmt"
	"strings"
)

// State is where a connection is between its opening and its end (RFC 9293, 3.3.2).
type State uint8

// The states, numbered as Linux does.
const (
	Established State = 1 + iota
	SynSent
	SynReceived
	FinWait1
	FinWait2
	TimeWait
	Closed
	CloseWait
	LastAck
	Listening
	Closing
)

var states = [...]string{"", "established", "syn sent", "syn received", "fin wait 1", "fin wait 2", "time wait", "closed", "close wait", "last ack", "listen", "closing"}

func (s State) String() string {
	if s > 0 && int(s) < len(states) {
		return states[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// CongestionState is what the sender thinks of the network.
type CongestionState uint8

// The congestion states of Linux.
const (
	Open     CongestionState = iota // nothing is amiss
	Disorder                        // duplicate acknowledgements: late or lost
	Reduced                         // congestion was marked (ECN): the window shrinks
	Recovery                        // something was lost and is sent again
	Loss                            // the retransmission timer has fired
)

var congestionStates = [...]string{"open", "disorder", "reduced", "recovery", "loss"}

func (s CongestionState) String() string {
	if int(s) < len(congestionStates) {
		return congestionStates[s]
	}
	return fmt.Sprintf("congestion state %d", uint8(s))
}

// Options are what both sides agreed to when the connection was made.
type Options uint8

// The options.
const (
	Timestamps     Options = 1 << iota // RFC 7323
	SACK                               // selective acknowledgements, RFC 2018
	WindowScale                        // windows beyond 64 KB, RFC 7323
	ECN                                // congestion may be marked, RFC 3168
	ECNSeen                            // a packet has come that allows it
	FastOpenData                       // the SYN carried data that were acknowledged, RFC 7413
	MicrosecondTS                      // timestamps count µs
	FastOpenServer                     // the connection was opened by such a SYN
)

var options = [...]string{"timestamps", "sack", "wscale", "ecn", "ecn seen", "syn data", "usec timestamps", "fast open"}

func (o Options) String() string {
	var on []string
	for n, name := range options {
		if o&(1<<n) != 0 {
			on = append(on, name)
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ", ")
}
