package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
)

// everywhere puts a mark into every function and statement that may have one, in the package's tests and in all that they import.
func (b *bench) everywhere(ctx context.Context, pkg string) (map[string][]instrument.Mark, error) {
	out, err := exec.CommandContext(ctx, b.goCmd, "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports", pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("asking what it imports: %w", err)
	}
	type list struct {
		ImportPath, Dir            string
		GoFiles, CgoFiles, Imports []string
	}
	var pkgs []list
	imports := map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p list
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("reading what %s list printed: %w", b.goCmd, err)
		}
		pkgs = append(pkgs, p)
		imports[p.ImportPath] = p.Imports
	}
	low := instrument.Low(imports)
	marks := map[string][]instrument.Mark{}
	n := uint32(0)
	for _, p := range pkgs {
		path, _, variant := strings.Cut(p.ImportPath, " ")
		if low(path) || variant && len(marks[path]) > 0 || strings.HasSuffix(path, ".test") {
			continue
		}
		fset, namer := token.NewFileSet(), new(instrument.Namer)
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			add := func(m instrument.Mark) {
				m.Kind, m.ID, m.File = instrument.Site, 1+n%(control.MaxID-1), name
				marks[path] = append(marks[path], m)
				n++
			}
			lines := map[int]bool{}
			for _, fn := range namer.Functions(fset, f) {
				if fn.Markable() {
					add(instrument.Mark{Line: fn.Line, Func: fn.Name})
				}
				for line := fn.Line; line <= fn.End; line++ {
					lines[line] = fn.Markable()
				}
			}
			for _, line := range slices.Compact(instrument.StatementLines(fset, f)) {
				if lines[line] && instrument.Bracketable(fset, f, line) {
					add(instrument.Mark{Line: line})
				}
			}
		}
	}
	return marks, nil
}
