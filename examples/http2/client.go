package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// clientVerb is the one argument that makes this program the client.
const clientVerb = "client"

// target is what the client needs to know.
type target struct {
	Address     string
	Certificate []byte // DER
	InFlight    int
	Connections int
}

// clientProcess runs the client in a child process until ctx is cancelled.
//
// The child learns its target from its standard input and ends when that closes,
// as it does even if this process is killed.
func clientProcess(ctx context.Context, t target) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe, clientVerb)
	cmd.Env = withoutHeadway(os.Environ())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel = in.Close
	cmd.WaitDelay = 5 * time.Second // then it is killed
	if err := cmd.Start(); err != nil {
		return err
	}
	told := json.NewEncoder(in).Encode(t)
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil && cmd.ProcessState.Success():
		return nil
	case err != nil:
		return fmt.Errorf("client: %w", err)
	}
	return told
}

// withoutHeadway leaves out what the profiler tells the server: the client is not the subject.
func withoutHeadway(env []string) []string {
	var kept []string
	for _, e := range env {
		if !strings.HasPrefix(e, "HEADWAY_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// clientMain is the child's main function.
func clientMain(in io.Reader) error {
	// A terminal, or a supervisor, signals the whole group; the server says when it is over.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	var t target
	d := json.NewDecoder(in)
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("the server said nothing: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, in)
		cancel()
	}()
	return ask(ctx, t)
}

// ask keeps t.InFlight requests in flight, as a closed loop, until ctx is cancelled.
func ask(ctx context.Context, t target) error {
	cert, err := x509.ParseCertificate(t.Certificate)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var wg sync.WaitGroup
	for i := range t.Connections {
		tr := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
		}
		defer tr.CloseIdleConnections()
		// Spread the requests evenly; the first connections take the rest.
		n := t.InFlight / t.Connections
		if i < t.InFlight%t.Connections {
			n++
		}
		wg.Go(func() {
			// The first request opens the connection that all others share.
			if err := askOnce(ctx, tr, t.Address); err != nil {
				cancel(err)
				return
			}
			var loops sync.WaitGroup
			for range n {
				loops.Go(func() {
					for ctx.Err() == nil {
						if err := askOnce(ctx, tr, t.Address); err != nil {
							cancel(err)
						}
					}
				})
			}
			loops.Wait()
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// browser is what a browser says of itself when it opens a search engine's home page.
var browser = http.Header{
	"Accept":                    {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
	"Accept-Encoding":           {"gzip, deflate, br"},
	"Accept-Language":           {"en-GB,en;q=0.7,de;q=0.3"},
	"Cache-Control":             {"no-cache"},
	"Cookie":                    {"1P_LAMP=2019-03-07-15; NID=" + strings.Repeat("q7Hn2fXw_TkVb4-Y", 9)},
	"Dnt":                       {"1"},
	"Pragma":                    {"no-cache"},
	"Priority":                  {"u=0, i"},
	"Sec-Fetch-Dest":            {"document"},
	"Sec-Fetch-Mode":            {"navigate"},
	"Sec-Fetch-Site":            {"none"},
	"Sec-Fetch-User":            {"?1"},
	"Te":                        {"trailers"},
	"Upgrade-Insecure-Requests": {"1"},
	"User-Agent":                {"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"},
}

func askOnce(ctx context.Context, tr *http.Transport, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/", nil)
	if err != nil {
		return err
	}
	req.Header = browser.Clone()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s over %s, want 200 over HTTP/2", resp.Status, resp.Proto)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
