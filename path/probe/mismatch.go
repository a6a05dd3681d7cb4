package probe

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"

	"github.com/headway-lab/headway/wire"
)

// opening keeps the first bytes that come over a connection: where they are not what was to come, they show what
// the server speaks.
type opening struct {
	net.Conn
	mu   sync.Mutex
	head []byte
	end  error // of reading
}

const openingSize = 1 << 10 // an answer's head, and the sentence of an error page

func (o *opening) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && o.end == nil {
		o.end = err
	}
	if room := openingSize - len(o.head); room > 0 && n > 0 {
		o.head = append(o.head, b[:min(n, room)]...)
	}
	return n, err
}

func (o *opening) first() ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.head), o.end
}

// speech is what a server speaks, as far as its first bytes show it.
type speech int

const (
	nothing   speech = iota
	unclear          // too little of it came
	speaks1          // HTTP/1
	speaks2          // HTTP/2 without TLS
	speaksTLS        // an alert, or a handshake
	wantsTLS         // HTTP/1, to say that TLS is wanted
	other
)

// What servers say to a request without TLS on a port with it: those written in Go, nginx, Apache, Tomcat.
var wanting = [][]byte{
	[]byte("HTTP request to an HTTPS server"), []byte("plain HTTP request was sent to HTTPS port"),
	[]byte("speaking plain HTTP to an SSL-enabled server port"), []byte("combination of host and port requires TLS"),
}

func heard(head []byte) speech {
	const version = "HTTP/"
	switch {
	case len(head) == 0:
		return nothing
	case strings.HasPrefix(version, string(head)):
		return unclear
	case bytes.HasPrefix(head, []byte("<!DOCTYPE HTML")), bytes.HasPrefix(head, []byte("<html")):
		return speaks1 // a page without a head, as HTTP/0.9 had it
	case bytes.HasPrefix(head, []byte(version)):
		for _, says := range wanting {
			if bytes.Contains(head, says) {
				return wantsTLS
			}
		}
		return speaks1
	case len(head) >= 3 && 20 <= head[0] && head[0] <= 23 && head[1] == 3 && head[2] <= 4:
		return speaksTLS // RFC 8446, 5.1: the type of a record and its version
	case len(head) >= 9 && (head[3] == 4 || head[3] == 7) && bytes.Equal(head[5:9], make([]byte, 4)) && head[0] == 0:
		return speaks2 // RFC 9113, 3.4: SETTINGS come first, or GOAWAY to what is no preface
	}
	return other
}

// A mismatch is that the server speaks something else than was tried, in words, and what to use instead, if that is
// known; err is how it showed.
type mismatch struct {
	says, use string
	err       error
}

func (m *mismatch) Error() string {
	if m.use == "" {
		return m.says
	}
	return m.says + ": use " + m.use
}

func (m *mismatch) Unwrap() error { return m.err }

// compared leaves out the advice where protocols are compared: it would end the comparison.
func (w *way) compared(err error) error {
	var m *mismatch
	if w.Group == "protocol" && errors.As(err, &m) && strings.HasPrefix(m.use, "--protocol") {
		return &mismatch{fmt.Sprintf("%s: there is no %s to compare", m.says, w.Name), "", err}
	}
	return err
}

// why says what the server speaks where that explains an error of the first exchange on a connection; else it is the error itself.
func (x *Conn) why(err error) error {
	secure := x.url.Scheme == "https"
	if secure && x.TLS != nil {
		return err // what came is encrypted
	}
	head, end := x.opening.first()
	says, use := "", ""
	switch said := heard(head); {
	case !secure && said == nothing && end != nil && x.HTTP2:
		return fmt.Errorf("%w: %w", wire.ErrNoResponse, end) // the library has several words for it
	case said == nothing || said == unclear:
	case secure && said == speaks1:
		says, use = "the server speaks HTTP without TLS", "http:// instead of https://"
	case secure && said == speaks2:
		says, use = "the server speaks HTTP/2 without TLS", "http:// instead of https://, and --protocol h2"
	case secure && said == other:
		says = fmt.Sprintf("the server speaks no TLS: it begins with %s", shown(head))
	case secure:
	case said == wantsTLS || said == speaksTLS:
		says, use = "the server speaks TLS", "https:// instead of http://"
	case x.HTTP2 && said == speaks1:
		says, use = "the server speaks HTTP/1 without TLS, not HTTP/2", "--protocol h1"
	case x.HTTP2 && said == other:
		says = fmt.Sprintf("the server speaks no HTTP/2 without TLS: it answers with %s", shown(head))
	case !x.HTTP2 && said == speaks2:
		says, use = "the server speaks HTTP/2 without TLS, not HTTP/1", "--protocol h2"
	case !x.HTTP2 && said == other:
		says = fmt.Sprintf("the server speaks no HTTP: it begins with %s", shown(head))
	}
	if says == "" {
		return err
	}
	return &mismatch{says, use, err}
}

var errNo2 = &mismatch{"the server does not offer HTTP/2 under TLS", "--protocol h1", errors.ErrUnsupported}

// noProtocol says which HTTP a server under TLS does not have, where a handshake failed for want of a common one.
func (c *Client) noProtocol(err error) error {
	if !strings.HasSuffix(err.Error(), tls.AlertError(120).Error()) { // no_application_protocol: RFC 7301, 3.2
		return err
	}
	switch c.Protocol {
	case wire.HTTP2:
		return errNo2
	case wire.HTTP1:
		return &mismatch{"the server does not offer HTTP/1.1 under TLS", "--protocol h2", err}
	}
	return &mismatch{"the server offers neither HTTP/2 nor HTTP/1.1 under TLS", "", err}
}

// refuses is an answer that says that TLS is wanted.
func (x *Conn) refuses(a *Answer) error {
	if x.url.Scheme == "https" || a.Status != http.StatusBadRequest || a.Reused {
		return nil
	}
	if head, _ := x.opening.first(); heard(head) != wantsTLS {
		return nil
	}
	return x.why(fmt.Errorf("status %d", a.Status))
}

// guess adds to an error of the very first exchange what it may come from: a server that hangs up without a word often
// waits for another protocol.
func (c *Client) guess(err error, u *url.URL) error {
	var step *StepError
	var known *mismatch
	if !errors.As(err, &step) || errors.As(err, &known) {
		return err
	}
	perhaps := ""
	switch secure := u.Scheme == "https"; {
	case step.Step == "TLS" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
		perhaps = "it speaks no TLS: then use http:// instead of https://"
	case step.Step != "answer" || !errors.Is(err, wire.ErrNoResponse):
		return err
	case secure && c.Protocol == wire.HTTP1:
		perhaps = "it speaks HTTP/2 only: then use --protocol h2"
	case secure:
		return err
	case c.Protocol == wire.HTTP2:
		perhaps = "it speaks no HTTP/2 without TLS: then use --protocol h1, or https://"
	default:
		perhaps = "it speaks TLS, or HTTP/2 only: then use https://, or --protocol h2"
	}
	return fmt.Errorf("%w; perhaps %s", err, perhaps)
}

// shown is the beginning of what came, for an error.
func shown(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimRight(line, "\r")
	return fmt.Sprintf("%q", line[:min(len(line), 40)])
}
