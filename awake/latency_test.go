package awake

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A latency of 0 is asked for where all processors can idle in a loop, and nowhere else.
func TestHoldLatency(t *testing.T) {
	for name, c := range map[string]struct {
		states []string
		file   bool
		want   string
	}{
		"polls":       {[]string{"POLL\n", "POLL\n"}, true, ""},
		"one cannot":  {[]string{"POLL\n", "C1\n"}, true, "not POLL"},
		"no driver":   {nil, true, "no driver"},
		"not allowed": {[]string{"POLL\n"}, false, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, s := range c.states {
				if err := os.WriteFile(filepath.Join(dir, "state"+strconv.Itoa(i)), []byte(s), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			latency := filepath.Join(dir, "latency")
			if c.file {
				if err := os.WriteFile(latency, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, err := holdLatency(latency, filepath.Join(dir, "state*"))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want one with %q", err, c.want)
				}
				if b, _ := os.ReadFile(latency); len(b) != 0 {
					t.Errorf("wrote %v", b)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if b, _ := os.ReadFile(latency); !bytes.Equal(b, make([]byte, 4)) {
				t.Errorf("wrote %v", b)
			}
		})
	}
}

// While it is held, processors idle in the polling state.
func TestPolls(t *testing.T) {
	k, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	if k.latency == nil {
		t.Skip("no right to " + latencyFile + ", or processors that cannot poll")
	}
	polled := func() (us int) {
		times, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state0/time")
		for _, f := range times {
			b, _ := os.ReadFile(f)
			n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			us += n
		}
		return us
	}
	// Nobody idles on a busy machine; there is some moment in half a minute.
	for begin, now := time.Now(), polled(); polled() == now; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("nobody has polled")
		}
	}
}
