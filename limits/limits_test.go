package limits

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if os.Getenv("LIMITS_CHILD") != "" {
		child()
		return
	}
	os.Exit(m.Run())
}

// child lowers its own limit, raises it again as far as it goes, and runs out.
func child() {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 32, Max: 64}); err != nil {
		fmt.Println(err)
		return
	}
	got, _ := RaiseFiles(48)
	fmt.Println("raised to", got)
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			fmt.Println(Explain(err))
			return
		}
		defer f.Close()
	}
}

func TestOutOfFiles(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "LIMITS_CHILD=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"raised to 48\n", "may have 48 files and connections open", "ulimit -n, up to 64"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %q in it", out, want)
		}
	}
}

func TestFiles(t *testing.T) {
	soft, hard, err := Files()
	if err != nil || soft == 0 || hard < soft {
		t.Fatal(soft, hard, err)
	}
	if got, err := RaiseFiles(soft); got != soft || err != nil {
		t.Errorf("a limit that is high enough: %d, %v", got, err)
	}
	before, err := OpenFiles()
	if err != nil {
		t.Fatal(err)
	}
	var all []*os.File
	for range 10 {
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	if after, _ := OpenFiles(); after != before+len(all) {
		t.Errorf("%d files open, %d before opening %d", after, before, len(all))
	}
	for _, f := range all {
		f.Close()
	}
}

func TestPorts(t *testing.T) {
	low, high, err := Ports()
	if err != nil || low < 1 || high > 65535 || high <= low {
		t.Fatal(low, high, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if p := c.LocalAddr().(*net.TCPAddr).Port; p < low || p > high {
		t.Errorf("a connection got port %d, not of %d to %d", p, low, high)
	}
	// The figures of the published study of 2017.
	if r := ConnectionRate(32768, 61000); int(r) != 470 {
		t.Errorf("32768 to 61000: %v a second", r)
	}
	if r := ConnectionRate(9000, 64500); int(r) != 925 {
		t.Errorf("9000 to 64500: %v a second", r)
	}
}

func TestTimeWait(t *testing.T) {
	if n, err := TimeWait(); err != nil || n < 0 {
		t.Error(n, err)
	}
	n, err := timeWait("sockets: used 293\nTCP: inuse 11 orphan 0 tw 18000 alloc 14 mem 2\nUDP: inuse 3 mem 1\n")
	if n != 18000 || err != nil {
		t.Error(n, err)
	}
	if _, err := timeWait("TCP: inuse 11\n"); err == nil {
		t.Error("nothing is a number")
	}
}

func TestExplain(t *testing.T) {
	low, high, err := Ports()
	if err != nil {
		t.Fatal(err)
	}
	rate := strconv.Itoa(int(ConnectionRate(low, high) + .5))
	for _, c := range []struct {
		err  error
		want []string
	}{
		{unix.EMFILE, []string{"ulimit -n"}},
		{unix.ENFILE, []string{"fs.file-max"}},
		{unix.EADDRNOTAVAIL, []string{rate + " new connections a second", "TIME_WAIT", "net.ipv4.ip_local_port_range", strconv.Itoa(low), "idle connections"}},
		{unix.ENOBUFS, []string{"net.ipv4.tcp_mem"}},
		{unix.ENOMEM, []string{"memory"}},
		{unix.ENOSPC, []string{"disk is full"}},
		{unix.EDQUOT, []string{"quota"}},
		{unix.EROFS, []string{"read-only"}},
		{unix.ECONNRESET, nil},
		{errors.New("other"), nil},
		{nil, nil},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("open: %w", &os.PathError{Op: "open", Path: "x", Err: err})
		}
		got := Explain(err)
		if c.want == nil && got != "" || strings.Contains(got, "\n") {
			t.Errorf("%v: %q", c.err, got)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%v: %q, want %q in it", c.err, got, w)
			}
		}
	}
}
