package mirror

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// child is a process of its own that mirrors what the environment says.
func child() {
	if n := os.Getenv("MIRROR_FILES"); n != "" {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	c, err := Parse("child.yaml", []byte(os.Getenv("MIRROR_CHILD")), os.LookupEnv)
	if err == nil {
		var x *Result
		x, err = Run(context.Background(), Options{Config: c, Dir: os.Getenv("MIRROR_DIR"), Warn: func(s string) { fmt.Println("warning:", s) }})
		if x != nil {
			fmt.Printf("stored %d there %d failed %d\n", x.Stored, x.There, x.Failed)
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func startChild(s *service, dir string, more string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "MIRROR_DIR="+dir, "MIRROR_CHILD="+fmt.Sprintf(`
list: {url: "%[1]s/records", records: ".records[]", page: {parameter: page}}
record: {url: "%[1]s/records/{id}"}
path: files/{created:2006/01/02}/{status}/{id}.txt
http: {workers: 8}
retry: {first: 1ms}
`, s.url())+more)
	return c
}

// Killed at fifty random moments, the mirror goes on each time; at the end every record is there
// once and whole, or named.
func TestKilledAtAnyMoment(t *testing.T) {
	for _, more := range []string{"", "durable: true\n"} {
		s := newService(t, 3000)
		gone := map[string]bool{"5": true, "777": true, "2999": true}
		s.one = func(w http.ResponseWriter, r *http.Request, id string) bool {
			if gone[id] {
				http.NotFound(w, r)
				return true
			}
			return false
		}
		kills, dirs := 25, 0
		var dir string
		fresh := func() {
			dirs++
			dir = filepath.Join(t.TempDir(), fmt.Sprint(dirs))
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		fresh()
		check := func(complete bool) {
			t.Helper()
			got := files(t, dir)
			for name, b := range got {
				if id := strings.TrimSuffix(filepath.Base(name), ".txt"); b != body(id) || gone[id] {
					t.Fatalf("%s holds %.60q", name, b)
				}
			}
			if complete && len(got) != 2997 {
				t.Fatalf("%d files of 2997", len(got))
			}
			if complete {
				b, _ := os.ReadFile(filepath.Join(dir, ".headway-mirror", failedName))
				for id := range gone {
					if !strings.Contains(string(b), `"id":`+id+`,`) && !strings.Contains(string(b), `"id":`+id+`}`) {
						t.Fatalf("record %s is neither there nor named: %s", id, b)
					}
				}
			}
		}
		for range kills {
			c := startChild(s, dir, more)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Duration(10+rand.IntN(150))*time.Millisecond, func() { c.Process.Kill() })
			err := c.Wait()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 1 { // it came to its end before
				check(true)
				fresh()
				continue
			}
			check(false)
		}
		out, err := startChild(s, dir, more).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		check(true)
		left, err := os.ReadDir(filepath.Join(dir, ".headway-mirror", "unfinished"))
		if err != nil || len(left) > 0 {
			t.Errorf("%v, %d unfinished files", err, len(left))
		}
	}
}

func needRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to mount a file system one has to be root")
	}
}

// mount mounts a small file system in memory.
func mount(t *testing.T, options string) string {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skip("no tmpfs can be mounted: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestFullDisk(t *testing.T) {
	for name, options := range map[string]string{"bytes": "size=400k", "files": "nr_inodes=100"} {
		t.Run(name, func(t *testing.T) {
			dir := mount(t, options)
			s := newService(t, 1000)
			x, err := mirrorTo(t, s.config(t, ""), dir)
			if err == nil || !strings.Contains(err.Error(), "the disk is full") || x.Stored == 0 {
				t.Fatalf("%v, %+v", err, x)
			}
			for path, b := range files(t, dir) {
				if b != body(strings.TrimSuffix(filepath.Base(path), ".txt")) {
					t.Errorf("%s is torn: %d bytes", path, len(b))
				}
			}
			// With room, the next run goes on.
			if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=100m,nr_inodes=10000"); err != nil {
				t.Fatal(err)
			}
			if _, err := mirrorTo(t, s.config(t, ""), dir); err != nil {
				t.Fatal(err)
			}
			s.whole(t, dir)
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	dir := mount(t, "size=1m")
	s := newService(t, 10)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := mirrorTo(t, s.config(t, ""), dir); err == nil || !strings.Contains(err.Error(), "mounted read-only") {
		t.Errorf("%v", err)
	}
	if s.listed.Load() > 0 {
		t.Error("the list was read all the same")
	}
}

// With 64 descriptors there are fewer workers, and all records.
func TestFewDescriptors(t *testing.T) {
	needRoot(t) // to become somebody who may not raise the limit
	s := newService(t, 400)
	dir := t.TempDir()
	for d := dir; d != "/" && d != "."; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(d, "Test") {
			os.Chmod(d, info.Mode()|0o005)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "child")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(exe, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := startChild(s, filepath.Join(dir, "to"), "")
	c.Path = exe
	c.Env = append(c.Env, "MIRROR_FILES=64", strings.Replace(c.Env[len(c.Env)-1], "workers: 8", "workers: 200", 1))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stored 400 ") || !strings.Contains(string(out), "LimitNOFILE") {
		t.Fatalf("%v: %s", err, out)
	}
	s.whole(t, filepath.Join(dir, "to"))
}
