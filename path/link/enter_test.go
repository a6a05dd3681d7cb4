package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// program, in the environment, makes the test binary one of the programs below.
const program = "HEADWAY_LINK_PROGRAM"

var programs = map[string]func() int{
	"seven": func() int { return 7 },
	"killed": func() int {
		// Process 1 of a namespace cannot kill itself; its like outside can.
		unix.Kill(os.Getpid(), unix.SIGKILL)
		time.Sleep(time.Minute)
		return 0
	},
	// What an ordinary user has inside: a link, with every congestion control.
	"link": func() int {
		l, err := New(Conditions{}, Conditions{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer l.Close()
		fmt.Println("user", os.Getuid())
		if _, err := l.B.Listen("tcp", 80, ""); err != nil {
			fmt.Println(err)
			return 1
		}
		for _, c := range Available() {
			x, err := l.A.Dial(context.Background(), "tcp", 80, c)
			if err != nil {
				fmt.Println(c, err)
				return 1
			}
			x.Close()
			if err := l.A.Default(c); err != nil {
				fmt.Println(c, err)
				return 1
			}
		}
		return 0
	},
	// How many signals come, within half a second of the first.
	"signals": func() int {
		got := make(chan os.Signal, 9)
		signal.Notify(got, unix.SIGINT)
		fmt.Println("ready")
		<-got
		n := 1
		for end := time.After(500 * time.Millisecond); ; {
			select {
			case <-got:
				n++
			case <-end:
				fmt.Println(n)
				return 0
			}
		}
	},
	// What another program had to do for this one: which signals came to the outer process alone.
	"told": func() int {
		fmt.Println("ready")
		select {
		case s := <-told:
			fmt.Println(s)
			EndBy(unix.SIGTERM)
			return 3
		case <-time.After(time.Second):
			return 4
		}
	},
	// Without /dev/net/tun, as in many containers.
	"without tun": func() int {
		if err := unix.Mount("none", "/dev/net", "tmpfs", 0, ""); err != nil {
			fmt.Println(err)
			return 1
		}
		l, err := New(Conditions{}, Conditions{})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer l.Close()
		ln, err := l.B.Listen("tcp", 80, "")
		if err == nil {
			_, err = l.A.Dial(context.Background(), "tcp", 80, "")
			ln.Close()
		}
		fmt.Println(l.Devices(), err)
		return 0
	},
	// Where user namespaces are forbidden by the setting that each of them has of its own.
	"forbidden": func() int {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			fmt.Println(err)
			return 1
		}
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			fmt.Println(err)
			return 1
		}
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), program+"=plain")
		out, err := c.CombinedOutput()
		fmt.Printf("%s%v\n", strings.ReplaceAll(string(out), ErrForbidden.Error(), "FORBIDDEN"), err)
		return 0
	},
	"parent": func() int {
		c := exec.Command("sleep", "1000")
		c.Stdout = os.Stdout // who holds it lives
		if err := c.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("ready")
		time.Sleep(time.Minute)
		return 0
	},
}

var told = make(chan os.Signal, 9)

// runProgram is what TestMain does in a process that is to be a program; it returns if this is none.
func runProgram() {
	if os.Getenv(program) == "plain" {
		_, _, err := Enter(context.Background())
		fmt.Println(err)
		os.Exit(5)
	}
	name, processes := strings.CutPrefix(os.Getenv(program), "processes ")
	f := programs[name]
	if f == nil {
		return
	}
	e := Entry{Always: true, Processes: processes}
	if name == "told" {
		e.To = told
	}
	done, code, err := e.Enter(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(99)
	}
	if !done {
		code = f()
	}
	os.Exit(code)
}

// start starts a program in a process group of its own, as an ordinary user if asked, which takes root.
func start(t *testing.T, name string, ordinary bool) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	if err := permitted(); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), program+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if ordinary {
		if os.Getuid() != 0 {
			t.Skip("it takes root to be somebody else")
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	return cmd, bufio.NewReader(out)
}

// end returns what a program said and its status; it skips what this machine does not allow.
func end(t *testing.T, cmd *exec.Cmd, r *bufio.Reader) (string, int) {
	t.Helper()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if strings.Contains(string(said), ErrForbidden.Error()) {
		t.Skip(string(said))
	}
	if x := (*exec.ExitError)(nil); err != nil && !errors.As(err, &x) {
		t.Fatal(err)
	}
	return string(said), cmd.ProcessState.ExitCode()
}

func TestEnterPassesOnTheStatus(t *testing.T) {
	for name, want := range map[string]int{"seven": 7, "processes seven": 7, "killed": 137} {
		for _, ordinary := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ordinary), func(t *testing.T) {
				cmd, r := start(t, name, ordinary)
				if said, code := end(t, cmd, r); code != want || said != "" {
					t.Errorf("status %d, %q", code, said)
				}
			})
		}
	}
}

func TestAnOrdinaryUserHasALinkAndEveryCongestionControl(t *testing.T) {
	for _, name := range []string{"link", "processes link"} {
		cmd, r := start(t, name, true)
		if said, code := end(t, cmd, r); code != 0 || said != "user 65534\n" {
			t.Errorf("%s: status %d, %q", name, code, said)
		}
	}
}

func TestWithoutTUN(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		cmd, r := start(t, "processes without tun", ordinary)
		if said, _ := end(t, cmd, r); said != "veth <nil>\n" {
			t.Errorf("ordinary %v: %q", ordinary, said)
		}
	}
}

// Who may do neither is told why.
func TestForbidden(t *testing.T) {
	cmd, r := start(t, "processes forbidden", true)
	said, _ := end(t, cmd, r)
	want := "FORBIDDEN: it takes root, or a user namespace, and user.max_user_namespaces is 0; set it to 10000 (fork/exec /proc/self/exe: no space left on device)\nexit status 5\n"
	if said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

// A signal reaches the program once, whether it is sent to the outer process or, as a terminal does, to both.
func TestASignalComesOnce(t *testing.T) {
	for _, name := range []string{"signals", "processes signals"} {
		for _, group := range []bool{false, true} {
			cmd, r := start(t, name, false)
			if line, err := r.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			pid := cmd.Process.Pid
			if group {
				pid = -pid
			}
			unix.Kill(pid, unix.SIGINT)
			if said, code := end(t, cmd, r); code != 0 || said != "1\n" {
				t.Errorf("%s, group %v: status %d, %q", name, group, code, said)
			}
		}
	}
}

// Where the program leaves signals to another in its process group, it is told of those alone that did not come to
// the group; and the outer process can end by the same signal as that other program.
func TestASignalIsLeftToTheGroup(t *testing.T) {
	for _, group := range []bool{false, true} {
		cmd, r := start(t, "processes told", false)
		if line, err := r.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		pid, want, code := cmd.Process.Pid, "terminated\n", -1
		if group {
			pid, want, code = -pid, "", 4
		}
		unix.Kill(pid, unix.SIGTERM)
		said, got := end(t, cmd, r)
		if said != want || got != code {
			t.Errorf("group %v: status %d, %q; want %d, %q", group, got, said, code, want)
		}
		if w := cmd.ProcessState.Sys().(syscall.WaitStatus); !group && w.Signal() != unix.SIGTERM {
			t.Errorf("ended by %v", w.Signal())
		}
	}
}

// Whichever process is killed, nothing stays: their end of the pipe closes.
func TestKilledNothingStays(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		for _, inner := range []bool{false, true} {
			cmd, r := start(t, "processes parent", ordinary)
			if line, err := r.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			pid := cmd.Process.Pid
			if inner {
				if _, err := fmt.Sscan(child(t, pid), &pid); err != nil {
					t.Fatal(err)
				}
			}
			unix.Kill(pid, unix.SIGKILL)
			gone := make(chan struct{})
			go func() { io.Copy(io.Discard, r); close(gone) }()
			select {
			case <-gone:
			case <-time.After(10 * time.Second):
				t.Errorf("ordinary %v, inner %v: something still runs", ordinary, inner)
			}
		}
	}
}

// child returns the one child of a process.
func child(t *testing.T, pid int) string {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, x.Name()))
		if len(b) > 0 {
			return string(b)
		}
	}
	t.Skip("this kernel does not tell the children of a process")
	return ""
}
