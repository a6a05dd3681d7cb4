//go:build !linux

package dns

import (
	"errors"
	"net"
)

func (s *Server) serveUDP(u *net.UDPConn) error {
	query := make([]byte, maxQueryOver+1)
	answer := make([]byte, 0, 2*maxUDP)
	var oob []byte
	if s.wild {
		oob = make([]byte, 128)
	}
	for {
		n, on, _, from, err := u.ReadMsgUDPAddrPort(query, oob)
		if err != nil {
			if s.stopped() {
				return nil
			}
			if passing(err) {
				continue
			}
			return err
		}
		if n > maxQueryOver {
			continue
		}
		control := source(oob[:on])
		if s.setAside(u, query[:n], control, from) {
			continue
		}
		answer = s.r.Respond(answer[:0], query[:n], from.Addr(), false)
		if len(answer) == 0 {
			continue
		}
		// An answer that cannot be sent is one that the network has lost.
		u.WriteMsgUDPAddrPort(answer, control, from)
	}
}

// passing tells errors that concern one packet, as when an earlier answer met a closed port.
func passing(err error) bool {
	var e net.Error
	return !errors.Is(err, net.ErrClosed) && !(errors.As(err, &e) && e.Timeout())
}
