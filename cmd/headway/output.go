package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8/cwriter"

	"github.com/headway-lab/headway/report"
)

// The values of --format.
const (
	table   = "table"
	classic = "classic"
	asJSON  = "json"
)

// output says where a report goes, to standard output and to files, and whether it is quiet meanwhile.
type output struct {
	format     string
	json, html string // files; "" is none
	quiet      bool
}

// flags adds the flags for all that. A page that o.html names already is written unless somebody says otherwise; more
// are formats beside the two that every verb has.
func (o *output) flags(c *cobra.Command, more ...string) {
	o.format = table
	formats := slices.Concat([]string{table}, more, []string{asJSON})
	page := "write the report as one HTML page to `FILE`"
	if o.html != "" {
		page += "; \"\" writes none"
	}
	f := c.Flags()
	f.Var(newChoice(&o.format, formats...), "format", "what goes to standard output: "+strings.Replace(oneOf(formats), table, "`"+table+"`", 1))
	f.StringVar(&o.json, "json", o.json, "write the report as JSON to `FILE`")
	f.StringVar(&o.html, "html", o.html, page)
	f.BoolVar(&o.quiet, "quiet", false, "no progress on standard error")
	c.MarkFlagFilename("json", "json")
	c.MarkFlagFilename("html", "html")
	says := map[string]string{table: "for people", classic: "the columns of the study of 2019", asJSON: "for programs"}
	var completions []cobra.Completion
	for _, word := range formats {
		completions = append(completions, cobra.CompletionWithDesc(word, says[word]))
	}
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
}

// commandLine is how the report came about.
func commandLine() []string { return append([]string{"headway"}, os.Args[1:]...) }

// check finds out before a long run whether the files can be written after it.
func (o output) check() error {
	if o.json == "-" {
		return usagef("--json - would be a file of that name: for standard output say --format json")
	}
	if o.html == "-" {
		return usagef("--html - would be a file of that name: for standard output say --html /dev/stdout")
	}
	if o.json != "" && o.json == o.html {
		return usagef("--json and --html both name %s", o.json)
	}
	if err := writable(o.json); err != nil {
		return usagef("--json %s cannot be written: %w", o.json, plain(err))
	}
	if err := writable(o.html); err != nil {
		return usagef("--html %s cannot be written: %w; --html \"\" writes no page", o.html, plain(err))
	}
	return nil
}

// write sends r everywhere it shall go; say tells the user which files there are.
func (o output) write(r *report.Report, stdout io.Writer, say func(string)) error {
	r.Command = commandLine()
	var err error
	switch o.format {
	case asJSON:
		err = r.JSON(stdout)
	case classic:
		err = writeClassic(r, stdout)
	default:
		err = r.Text(stdout, textOptions(stdout))
	}
	file := func(name string, write func(io.Writer) error) {
		if name == "" {
			return
		}
		if e := writeFile(name, write); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, plain(e)))
			return
		}
		say("wrote " + name)
	}
	file(o.json, r.JSON)
	file(o.html, r.HTML)
	return err
}

// textOptions says what stdout can show: on a terminal its width, and colours
// unless the environment asks for none.
func textOptions(stdout io.Writer) report.TextOptions {
	f, ok := stdout.(*os.File)
	if !ok || !cwriter.IsTerminal(int(f.Fd())) {
		return report.TextOptions{}
	}
	width, _, err := cwriter.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return report.TextOptions{Width: width, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// writable tries what writeFile will do, and leaves nothing behind.
func writable(name string) error {
	if name == "" {
		return nil
	}
	target, direct, err := resolve(name)
	if err != nil {
		return err
	}
	if direct {
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	f, err := createBeside(target)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// writeFile writes a file so that a reader sees either the old content or all of the new.
func writeFile(name string, write func(io.Writer) error) (err error) {
	target, direct, err := resolve(name)
	if err != nil {
		return err
	}
	if direct {
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := createBeside(target)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

// resolve follows symbolic links, so that a link stays one. What exists and is no
// file, such as a pipe or /dev/stdout, is written directly.
func resolve(name string) (target string, direct bool, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name, false, nil
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return name, true, nil
	}
	target, err = filepath.EvalSymlinks(name)
	return target, false, err
}

// createBeside creates a temporary file in the directory of name, with the
// permissions that a new file gets.
func createBeside(name string) (*os.File, error) {
	dir, base := filepath.Split(name)
	for i := 0; ; i++ {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s.%d-%d", dir, base, os.Getpid(), i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && i < 100 {
			continue
		}
		return f, err
	}
}

// plain leaves out the name of the temporary file, which means nothing to the user.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
