// Package instrument rewrites a Go program as it is compiled: it adds the
// experiment's accounting to package runtime, and progress points and site
// marks to any other package. It runs as the go command's -toolexec, so the
// user's source, module and Go installation stay untouched.
package instrument

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// sources are the hooks, and this package itself for its identity.
//
//go:embed hooks arch.go edits.go exits.go instrument.go marks.go rewrite.go
var sources embed.FS

// ConfigEnv names the environment variable that tells the toolexec command its Config file.
const ConfigEnv = "HEADWAY_CONFIG"

// flagPrefix marks a compiler flag that is only there to give a package whose
// marks differ a cache entry of its own. It is taken out before the compiler runs.
const flagPrefix = "-headway="

// A Config says what to add to which package.
type Config struct {
	Packages map[string][]Mark `json:"packages"` // by import path
	// Global puts the marks into the identity of the compiler, where they
	// cannot be put into a package's flags.
	Global bool `json:"global,omitempty"`
}

// A Kind of Mark.
type Kind string

// The kinds of mark.
const (
	Site     Kind = "site"  // a function's body, or a statement where Line is set and Func is ""
	Entry    Kind = "entry" // progress point: a function is called
	Exit     Kind = "exit"  // progress point: it returns
	Line     Kind = "line"  // progress point before the statement at File:Line
	Replace  Kind = "text"  // progress point by a replacement in a file of the standard library
	progress      = "github.com/headway-lab/headway/progress"
)

// A Mark is one addition to one package.
type Mark struct {
	Kind Kind   `json:"kind"`
	ID   uint32 `json:"id"`
	Func string `json:"func,omitempty"` // as in a stack trace, less the package
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"` // %d is the ID
}

// Main is the toolexec command: args are the tool and its arguments. It
// returns the exit status.
func Main(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "headway toolexec: no tool given; the go command calls this")
		return 2
	}
	code, err := run(args[0], args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "headway: %v\n", err)
		return 1
	}
	return code
}

func run(tool string, args []string) (int, error) {
	name := strings.TrimSuffix(filepath.Base(tool), ".exe")
	var dir string
	var err error
	switch name {
	case "asm":
		dir, args, err = assemble(dropFlag(args), os.Getenv("TOOLEXEC_IMPORTPATH"))
	case "compile":
		args = dropFlag(args)
		conf, badConf := load(os.Getenv(ConfigEnv))
		if badConf != nil {
			return 1, badConf
		}
		if len(args) == 1 && args[0] == "-V=full" {
			return version(tool, args, conf)
		}
		if dir, args, err = rewrite(args, os.Getenv("TOOLEXEC_IMPORTPATH"), conf); err == nil {
			args = without("dwarf", "-dwarf=false", withoutDir(args, dir))
		}
	case "link":
		if !slices.Equal(args, []string{"-V=full"}) {
			args = without("w", "-w", args)
		}
	}
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return 1, err
	}
	return pass(tool, args, nil)
}

// without puts a flag that leaves something out before the others, if nothing is said about it yet. Nobody looks at such a program with a
// debugger, and to write for one takes a tenth of the time of a build.
func without(name, flag string, args []string) []string {
	for _, a := range args {
		if a == "-"+name || strings.HasPrefix(a, "-"+name+"=") {
			return args
		}
	}
	return append([]string{flag}, args...)
}

// withoutDir lets the compiler write files in dir as if they were in none. Objects, and all that are compiled after them, would else
// differ with the name of a directory that is gone.
func withoutDir(args []string, dir string) []string {
	if dir == "" {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-trimpath" && i+1 < len(args) {
			args[i+1] = dir + "=>;" + args[i+1]
			return args
		}
		if v, ok := strings.CutPrefix(a, "-trimpath="); ok {
			args[i] = "-trimpath=" + dir + "=>;" + v
			return args
		}
	}
	return append([]string{"-trimpath=" + dir + "=>"}, args...)
}

func dropFlag(args []string) []string {
	out := args[:0:0]
	for _, a := range args {
		if !strings.HasPrefix(a, flagPrefix) {
			out = append(out, a)
		}
	}
	return out
}

func pass(tool string, args []string, out *bytes.Buffer) (int, error) {
	cmd := exec.Command(tool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if out != nil {
		cmd.Stdout = out
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, fmt.Errorf("running %s: %w", tool, err)
	}
	return 0, nil
}

// version adds our own identity to the compiler's, so that the build cache
// keeps our objects apart from ordinary ones.
func version(tool string, args []string, conf *Config) (int, error) {
	var out bytes.Buffer
	code, err := pass(tool, args, &out)
	if err != nil || code != 0 {
		return code, err
	}
	id := identity()
	if conf.Global {
		id += "-" + conf.hash()
	}
	fmt.Printf("%s headway/%s\n", strings.TrimSpace(out.String()), id)
	return 0, nil
}

// identity changes whenever what we do to a package may change: with the hooks and with this package's own source, else
// objects in the build cache outlive the fault that made them.
func identity() string {
	h := sha256.New()
	if err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := sources.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
		return err
	}); err != nil {
		panic(err) // embedded files can always be read
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func (c *Config) hash() string {
	b, _ := json.Marshal(c)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:16]
}

// Flags returns the flags for go build, run and install that make the go
// command call self (the path of this program) as its toolexec. gcflags is
// whether the marks may travel in compiler flags; it must be false where the
// user gives -gcflags, and then c.Global is set.
func (c *Config) Flags(self string, gcflags bool) []string {
	if strings.ContainsAny(self, " '\"") {
		self = "'" + self + "'"
	}
	flags := []string{"-toolexec=" + self + " toolexec"}
	c.Global = !gcflags
	if gcflags {
		pkgs := make([]string, 0, len(c.Packages))
		for p := range c.Packages {
			pkgs = append(pkgs, p)
		}
		sort.Strings(pkgs)
		for _, p := range pkgs {
			b, _ := json.Marshal(c.Packages[p])
			sum := sha256.Sum256(b)
			flags = append(flags, "-gcflags="+p+"="+flagPrefix+hex.EncodeToString(sum[:8]))
		}
	}
	return flags
}

// Write stores the config for the toolexec command to read.
func (c *Config) Write(path string) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("writing the build configuration: %w", err)
	}
	return nil
}

func load(path string) (*Config, error) {
	c := &Config{}
	if path == "" {
		return c, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ConfigEnv, err)
	}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("reading %s: %w", ConfigEnv, err)
	}
	return c, nil
}
