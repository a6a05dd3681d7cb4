package instrument

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test is its own toolexec command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "toolexec" {
		os.Exit(Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// other is the Go release beside the installed one that has to work too.
const other = "go1.27.4"

// goroots calls do for every Go installation that can be had, as a subtest.
func goroots(t *testing.T, do func(t *testing.T, goroot, version string)) {
	ask := func(env ...string) (goroot, version string, err error) {
		cmd := exec.Command("go", "env", "GOROOT", "GOVERSION")
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		goroot, version, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
		return goroot, version, err
	}
	run := func(name string, env ...string) {
		t.Run(name, func(t *testing.T) {
			goroot, version, err := ask(env...)
			if err != nil {
				t.Skipf("%s cannot be had here: %v", name, err)
			}
			do(t, goroot, version)
		})
	}
	run("installed")
	run(other, "GOTOOLCHAIN="+other)
	if root := os.Getenv("HEADWAY_TEST_GOROOT"); root != "" {
		t.Run(root, func(t *testing.T) {
			b, err := os.ReadFile(root + "/VERSION")
			if err != nil {
				t.Fatal(err)
			}
			version, _, _ := strings.Cut(string(b), "\n")
			do(t, root, version)
		})
	}
}
