package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is an ordinary net/http server with one page.
type server struct {
	http        *http.Server
	listener    net.Listener
	certificate []byte // DER
	failed      chan error

	page, zipped []byte
	served       atomic.Int64
	first        chan struct{} // closed at the first request
	firstOnce    sync.Once
}

// listen starts a server on a free port of the loopback interface.
func listen(c config) (*server, error) {
	cert, err := selfSigned()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{
		listener:    l,
		certificate: cert.Certificate[0],
		failed:      make(chan error, 1),
		first:       make(chan struct{}),
		page:        homePage(),
	}
	if c.gzip {
		s.zipped = compressed(s.page)
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.home),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}},
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that goes away mid-request is no news
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: max(250, c.inFlight)},
	}
	go func() {
		err := s.http.ServeTLS(l, "", "")
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.failed <- err
	}()
	return s, nil
}

func (s *server) address() string { return s.listener.Addr().String() }

// stop ends the server. The client is gone by then, so nothing is cut off; a
// graceful shutdown would wait a second for its answer.
func (s *server) stop() error {
	err := s.http.Close()
	return errors.Join(err, <-s.failed)
}

// home answers every request with the home page.
func (s *server) home(w http.ResponseWriter, r *http.Request) {
	s.firstOnce.Do(func() { close(s.first) })
	now := time.Now()
	h := w.Header()
	h.Set("Expires", "-1")
	h.Set("Cache-Control", "private, max-age=0")
	h.Set("Content-Type", "text/html; charset=UTF-8")
	h.Set("Strict-Transport-Security", "max-age=31536000")
	h.Set("Content-Security-Policy", "object-src 'none'; base-uri 'self'; script-src 'nonce-Zx3kQm1T0vSgqV5eUw8rLA' 'strict-dynamic' 'report-sample' 'unsafe-eval' 'unsafe-inline' https: http:; report-uri https://csp.lantern.example/csp/home")
	h.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups; report-to=\"home\"")
	h.Set("Report-To", `{"group":"home","max_age":2592000,"endpoints":[{"url":"https://csp.lantern.example/csp/report-to/home"}]}`)
	h.Set("P3P", `CP="This is not a P3P policy. See lantern.example/p3p for what it is."`)
	h.Set("Server", "lamp")
	h.Set("X-XSS-Protection", "0")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Permissions-Policy", "unload=()")
	h.Set("Accept-CH", "Sec-CH-Prefers-Color-Scheme, Downlink, RTT")
	h.Set("Vary", "Accept-Encoding")
	http.SetCookie(w, &http.Cookie{
		Name: "1P_LAMP", Value: now.UTC().Format("2006-01-02-15"),
		Path: "/", Domain: "lantern.example", Expires: now.AddDate(0, 1, 0), Secure: true, SameSite: http.SameSiteNoneMode,
	})
	http.SetCookie(w, &http.Cookie{
		Name: "NID", Value: "511=" + strings.Repeat("q7Hn2fXw_TkVb4-Y", 9),
		Path: "/", Domain: "lantern.example", Expires: now.AddDate(0, 6, 0), HttpOnly: true,
	})
	body := s.page
	if s.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = s.zipped
	}
	w.Write(body)
	s.served.Add(1)
}

func compressed(page []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(page)
	z.Close()
	return b.Bytes()
}

// selfSigned makes a certificate for the loopback address that lasts a day.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: "headway example"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(0, 0, 1),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
