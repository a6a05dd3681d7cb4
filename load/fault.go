package load

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/net/http2"

	"github.com/headway-lab/headway/wire"
)

// Fault is why a request got no answer.
type Fault uint8

// What can go wrong.
const (
	None Fault = iota
	Unsent
	Pending
	Name
	Connect
	TLS
	Timeout
	Reset
	Hangup
	Truncated
	Protocol
	Exhausted
	Other
	faults
)

var faultNames = [faults]string{
	None:      "",
	Unsent:    "never sent: no connection was free",
	Pending:   "no answer yet when the run was interrupted",
	Name:      "host not found",
	Connect:   "no connection",
	TLS:       "TLS handshake failed",
	Timeout:   "timeout",
	Reset:     "connection reset",
	Hangup:    "connection ended without an answer",
	Truncated: "answer broke off",
	Protocol:  "answer is not HTTP",
	Exhausted: "this machine ran out of ports or descriptors",
	Other:     "other",
}

func (f Fault) String() string { return faultNames[f] }

// faultOf sorts an error.
func faultOf(err error) Fault {
	var dial *wire.DialError
	var stream http2.StreamError
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENOBUFS):
		return Exhausted
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return Timeout
	case errors.As(err, &dial):
		switch dial.Step {
		case "name":
			return Name
		case "TLS":
			return TLS
		}
		return Connect
	case errors.Is(err, wire.ErrNoResponse):
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			return Reset
		}
		return Hangup
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.As(err, &stream):
		return Reset
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Truncated
	}
	var network interface{ Timeout() bool }
	if errors.As(err, &network) {
		if network.Timeout() {
			return Timeout
		}
		return Other
	}
	return Protocol
}
