package causal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The command is started again as often as it ends, the last that is left is ended, and why one failed is known.
func TestDriver(t *testing.T) {
	dir := t.TempDir()
	d := drive(&Options{Dir: dir, Env: append(os.Environ(), "WORD=here"), Load: `echo $WORD >>runs; test $(wc -l <runs) -gt 2 || { echo no server; echo >&2; exit 3; }; echo $$ >last; exec sleep 1000`})
	last := filepath.Join(dir, "last")
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(last); err == nil && len(b) > 0 {
			break
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the command is not started a third time")
		}
	}
	if why := d.trouble(); why != "no server (exit status 3)" {
		t.Errorf("%q is why it failed", why)
	}
	pid, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	d.stop()
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("the command still runs")
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || string(runs) != "here\nhere\nhere\n" {
		t.Errorf("%q, %v", runs, err)
	}
}

func TestLastWords(t *testing.T) {
	var l lastWords
	for range 10_000 {
		if n, err := l.Write([]byte("12345678 1234567\r")); n != 17 || err != nil {
			t.Fatal(n, err)
		}
	}
	if l.line() != "12345678 1234567" || cap(l.b) > 16<<10 {
		t.Errorf("%q, %d bytes kept", l.line(), cap(l.b))
	}
	l.Write([]byte("the end\n\n"))
	if l.line() != "the end" {
		t.Errorf("%q", l.line())
	}
}
