package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newPathShell() *cobra.Command {
	x := runFlags{}
	c := &cobra.Command{
		Use:   "shell [flags]",
		Short: "A shell whose network is an emulated path",
		Long: `Shell is run with your shell ($SHELL) as the command: everything that is called in it goes over
the path. The prompt of bash shows its conditions; in other shells they are in
$HEADWAY_PATH_CONDITIONS. Everything else is as headway path run --help says.`,
		Example: `  headway path shell --delay 100ms --loss 1%
  headway path shell --down-rate 10mbit --up-rate 1mbit --queue 64KB --cc cubic`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("path shell takes no %q; for a command: headway path run", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shell := os.Getenv("SHELL")
			if shell == "" {
				shell = "/bin/sh"
			}
			says := x.conditions.says()
			switch filepath.Base(shell) {
			case "bash":
				// After its start-up files, which set the prompt.
				x.o.Env = append(x.o.Env, fmt.Sprintf(`PROMPT_COMMAND=PS1="[path: $HEADWAY_PATH_CONDITIONS] $PS1"; %s`, restored("PROMPT_COMMAND")))
			case "sh", "dash", "ash", "ksh":
				x.o.Env = append(x.o.Env, "PS1=[path: "+says+"] $ ")
			}
			return x.run(c, []string{shell})
		},
	}
	x.flags(c)
	return c
}

// restored is the piece of shell that gives a variable the value that it has now.
func restored(name string) string {
	if old, ok := os.LookupEnv(name); ok {
		return name + "=" + quoted(old) + "; eval \"$" + name + "\""
	}
	return "unset " + name
}

// quoted is a word for a shell.
func quoted(s string) string {
	b := []byte{'\''}
	for i := range len(s) {
		if s[i] == '\'' {
			b = append(b, `'\''`...)
		} else {
			b = append(b, s[i])
		}
	}
	return string(append(b, '\''))
}
