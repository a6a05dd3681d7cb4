package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headway-lab/headway/causal"
)

// completeFlags tells the shell what may follow a flag.
func completeFlags(c *cobra.Command) {
	words := func(flag string, words ...string) {
		c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	words("by", "func\tone function", "line\tone line of source", "callsite\tone place where a function is called")
	words("latency", "http\tthe requests of net/http")
	words("speedups", "25,50,75,100", "10,20,40,80")
	words("duration", "30s", "1m", "5m")
	for _, flag := range []string{"throughput", "site", "include", "exclude", "top", "window", "seed", "build"} {
		words(flag)
	}
}

// completePackage offers the programs of the current module, or with --test the
// packages that have tests.
func completePackage(o *causal.Options) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 { // the program's own arguments
			return nil, cobra.ShellCompDirectiveDefault
		}
		if filepath.IsAbs(prefix) || strings.HasPrefix(prefix, "..") {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		goCommand := o.Go
		if goCommand == "" {
			goCommand = "go"
		}
		wanted := `eq .Name "main"`
		if o.Test {
			wanted = `or .TestGoFiles .XTestGoFiles`
		}
		ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, goCommand, "list", "-e", "-find", "-f",
			"{{if "+wanted+"}}{{.ImportPath}}\t{{.Dir}}{{end}}", "./...").Output()
		if err != nil {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		here, err := os.Getwd()
		if err != nil {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		var found []cobra.Completion
		for line := range strings.Lines(string(out)) {
			path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
			name := path
			if prefix == "" || strings.HasPrefix(prefix, ".") {
				if dir, err = filepath.Rel(here, dir); err != nil {
					continue
				}
				name = "."
				if dir != "." {
					name = "./" + filepath.ToSlash(dir)
				}
			}
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
