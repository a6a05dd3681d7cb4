package known

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/headway-lab/headway/path/link"
	"github.com/headway-lab/headway/path/tcpinfo"
)

// name is that of the server.
const name = "server.known.test"

// server is both the HTTP server and the name server, at end B.
type server struct {
	t       Transfer
	address netip.Addr
	http    *http.Server
	dns     net.PacketConn
	wg      sync.WaitGroup
	roots   *x509.CertPool
	course  chan []tcpinfo.Sample // of each connection, when it is closed
}

func (t Transfer) serve(ns *link.Namespace) (*server, error) {
	s := &server{t: t, address: ns.Addr, course: make(chan []tcpinfo.Sample, 4)}
	var ln net.Listener
	err := ns.Do(func() (err error) {
		if s.dns, err = net.ListenPacket("udp4", netip.AddrPortFrom(ns.Addr, 53).String()); err != nil {
			return err
		}
		c := net.ListenConfig{Control: func(network, address string, c syscall.RawConn) error {
			if t.Upload {
				return t.receiveBuffer(c)
			}
			return tcpinfo.Control(t.Congestion)(network, address, c)
		}}
		ln, err = c.Listen(context.Background(), "tcp4", netip.AddrPortFrom(ns.Addr, t.port()).String())
		return err
	})
	if err != nil {
		s.close()
		return nil, err
	}
	ln = tcpinfo.Recorded(ln, every, func(_ net.Conn, course []tcpinfo.Sample) {
		select {
		case s.course <- course:
		default:
		}
	})
	ln = &tuned{ln, t}
	if t.TLS {
		cert, roots, err := certificate()
		if err != nil {
			ln.Close()
			s.close()
			return nil, err
		}
		s.roots = roots
		ln = tls.NewListener(ln, &tls.Config{NextProtos: []string{"http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			time.Sleep(t.Handshake)
			return cert, nil
		}})
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.answer), ConnState: s.state}
	s.wg.Go(func() { s.http.Serve(ln) })
	s.wg.Go(s.resolve)
	return s, nil
}

// tuned sets what concerns the sender's socket, where that is the server's.
type tuned struct {
	net.Listener
	t Transfer
}

func (l *tuned) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.t.tune(c, !l.t.Upload)
	}
	return c, err
}

// tune sets the buffers of a connection and what it does with small writes.
func (t Transfer) tune(c net.Conn, sender bool) {
	s, ok := c.(interface {
		SetWriteBuffer(int) error
		SetNoDelay(bool) error
		SyscallConn() (syscall.RawConn, error)
	})
	if !ok {
		return
	}
	if sender && t.SendBuffer > 0 {
		s.SetWriteBuffer(t.SendBuffer / 2) // the kernel doubles what it is asked for
	}
	if !t.Halves {
		return
	}
	s.SetNoDelay(!sender)
	if rc, err := s.SyscallConn(); err == nil && !sender {
		rc.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) })
	}
}

// receiveBuffer bounds the window, which has to be done before there is a connection.
func (t Transfer) receiveBuffer(c syscall.RawConn) error {
	var err error
	if t.Receive > 0 {
		if e := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, t.Receive)
		}); e != nil {
			return e
		}
	}
	return err
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if s.t.Upload {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		time.Sleep(s.t.Think)
		w.WriteHeader(http.StatusOK)
		return
	}
	time.Sleep(s.t.Think)
	w.Header().Set("Content-Length", strconv.Itoa(s.t.Size))
	w.Header().Set("Content-Type", "application/octet-stream")
	s.t.write(w, http.NewResponseController(w).Flush)
}

// write writes the body as the sender's program does.
func (t Transfer) write(w io.Writer, flush func() error) {
	chunk := t.Chunk
	if t.Halves {
		chunk = t.Size / 2
	}
	if chunk == 0 {
		chunk = t.Size
	}
	body := make([]byte, t.Size)
	for sent := 0; sent < t.Size; sent += chunk {
		if sent > 0 && t.Pause > 0 {
			time.Sleep(t.Pause)
		}
		if _, err := w.Write(body[sent:min(sent+chunk, t.Size)]); err != nil || flush() != nil {
			return
		}
	}
}

// state notices nothing: connections are recorded below.
func (s *server) state(net.Conn, http.ConnState) {}

// resolve answers every question with the server's address, after a while.
func (s *server) resolve() {
	b := make([]byte, 1500)
	for {
		n, from, err := s.dns.ReadFrom(b)
		if err != nil {
			return
		}
		answer, err := reply(b[:n], s.address)
		if err != nil {
			continue
		}
		s.wg.Go(func() {
			time.Sleep(s.t.DNS)
			s.dns.WriteTo(answer, from)
		})
	}
}

func reply(question []byte, address netip.Addr) ([]byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(question)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionDesired: true, RecursionAvailable: true})
	b.StartQuestions()
	b.Question(q)
	b.StartAnswers()
	if q.Type == dnsmessage.TypeA {
		b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}, dnsmessage.AResource{A: address.As4()})
	}
	return b.Finish()
}

func (s *server) close() {
	if s.dns != nil {
		s.dns.Close()
	}
	if s.http != nil {
		s.http.Close()
	}
	s.wg.Wait()
}

func certificate() (*tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool, nil
}
