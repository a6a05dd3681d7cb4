package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headway-lab/headway/path/link"
)

// What it says of a server at the end of a path is what curl -w says, interleaved: the medians lie within each other's
// intervals, or closer than the machine can tell.
func TestAgreesWithCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip(err)
	}
	half := link.Conditions{Delay: 10 * time.Millisecond}
	l, err := link.New(half, half)
	if errors.Is(err, link.ErrForbidden) || errors.Is(err, link.ErrNoDevice) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ln, err := l.B.Listen("tcp", 80, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(30 * time.Millisecond)
		w.Write(make([]byte, 200_000))
	})}
	go s.Serve(ln)
	defer s.Close()

	address := netip.AddrPortFrom(l.B.Addr, 80).String()
	o := Options{URL: "http://" + address + "/", N: 4}
	o.Client.Dial = func(ctx context.Context, network, address string) (c net.Conn, err error) {
		return c, l.A.Do(func() error {
			var d net.Dialer
			c, err = d.DialContext(ctx, network, address)
			return err
		})
	}
	ways, err := o.ways()
	if err != nil {
		t.Fatal(err)
	}
	const n = 12
	var own, other [3][]float64 // connect, first byte, total
	for range n {
		x, err := ways[0].exchange(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := x.Phases
		for i, d := range []time.Duration{p.Connect, p.Total() - p.Transfer, p.Total()} {
			own[i] = append(own[i], ms(d))
		}
		theirs, err := byCurl(t.Context(), l.A, curl, "http://"+address+"/")
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range theirs {
			other[i] = append(other[i], x)
		}
	}
	for i, name := range []string{"connect", "first byte", "total"} {
		a, b := medianOf(own[i]), medianOf(other[i])
		t.Logf("%-10s %.2f [%.2f, %.2f] ms; curl %.2f [%.2f, %.2f] ms", name, a.Value, a.Low, a.High, b.Value, b.Low, b.High)
		// curl is a process that begins anew each time, on a machine that may be busy: a millisecond is neither's fault, and
		// far less than the paths differ by.
		const own = 1
		if a.Low-own > b.High || b.Low-own > a.High {
			t.Errorf("%s: %.2f [%.2f, %.2f] ms, and curl says %.2f [%.2f, %.2f]", name, a.Value, a.Low, a.High, b.Value, b.Low, b.High)
		}
	}
}

// byCurl asks curl, in the namespace, for the same figures in ms.
func byCurl(ctx context.Context, ns *link.Namespace, curl, url string) (figures [3]float64, err error) {
	cmd := exec.CommandContext(ctx, curl, "-s", "-o", "/dev/null", "--noproxy", "*", "-w", "%{time_connect} %{time_starttransfer} %{time_total}", url)
	var out strings.Builder
	cmd.Stdout = &out
	if err := ns.Start(cmd); err != nil {
		return figures, err
	}
	if err := cmd.Wait(); err != nil {
		return figures, fmt.Errorf("curl: %w", err)
	}
	words := strings.Fields(out.String())
	if len(words) != 3 {
		return figures, fmt.Errorf("curl says %q", out.String())
	}
	for i, w := range words {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return figures, err
		}
		figures[i] = x * 1e3
	}
	return figures, nil
}
