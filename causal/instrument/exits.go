package instrument

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// brackets are the insertions that make a function's body a site whose end is before each return; nil where the end has to be
// in a deferred call.
//
// A deferred call costs more than itself: with one too many the compiler keeps none of a function's calls open-coded, the frame
// grows, and the goroutine's stack with it. That a panic passes through the function is put right where somebody recovers from it,
// see headwayRecovered. What the function defers itself then runs after the site: where that may be work, the end is deferred, too.
func (fn *Function) brackets(id uint32, offset func(token.Pos) int) []insertion {
	if !fn.defersLittle() {
		return nil
	}
	names, ins := fn.nameResults(offset)
	if names == nil {
		return nil
	}
	enter := fmt.Sprintf(" headwayF%d := headwayEnter(%d); _ = headwayF%d; ", id, id, id)
	exit := fmt.Sprintf("headwayExit(headwayF%d)", id)
	ins = append(ins, insertion{at: offset(fn.Body.Lbrace) + 1, text: enter, rank: 2})
	inside(fn.Body, func(n ast.Node) {
		r, ok := n.(*ast.ReturnStmt)
		switch {
		case !ok:
		case len(r.Results) == 0:
			ins = append(ins, insertion{at: offset(r.Pos()), text: "{ " + exit + "; ", rank: 3}, insertion{at: offset(r.End()), text: " }"})
		default:
			ins = append(ins, insertion{at: offset(r.Pos()), text: "{ " + strings.Join(names, ", ") + " =", rank: 3, cut: len("return")},
				insertion{at: offset(r.End()), text: "; " + exit + "; return }"})
		}
	})
	if len(names) == 0 {
		ins = append(ins, insertion{at: offset(fn.Body.Rbrace), text: "; " + exit + " ", rank: 4})
	}
	return ins
}

// inside visits what belongs to a function's body itself, and not to the functions in there.
func inside(body *ast.BlockStmt, visit func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if n != nil {
			visit(n)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
}

// defersLittle reports whether all that the function defers is to let go of a lock or a count.
func (fn *Function) defersLittle() bool {
	little := true
	inside(fn.Body, func(n ast.Node) {
		d, ok := n.(*ast.DeferStmt)
		if !ok {
			return
		}
		s, ok := d.Call.Fun.(*ast.SelectorExpr)
		if !ok {
			little = false
			return
		}
		switch s.Sel.Name {
		case "Unlock", "RUnlock", "Done", "Add":
		default:
			little = false
		}
	})
	return little
}

// nameResults gives all results of a function names, so that they are known before the site ends. It returns the names,
// nil if one means something else in a part of the body, and the insertions.
func (fn *Function) nameResults(offset func(token.Pos) int) (names []string, ins []insertion) {
	names = []string{}
	results := fn.typ.Results
	if results == nil {
		return names, nil
	}
	own := func() string { return fmt.Sprintf("headwayR%d", len(names)) }
	for _, field := range results.List {
		if len(field.Names) == 0 {
			ins = append(ins, insertion{at: offset(field.Type.Pos()), text: own() + " ", rank: 1})
			names = append(names, own())
		}
		for _, name := range field.Names {
			if name.Name == "_" {
				ins = append(ins, insertion{at: offset(name.Pos()), text: own(), cut: 1})
				names = append(names, own())
				continue
			}
			if fn.declares(name.Name) {
				return nil, nil
			}
			names = append(names, name.Name)
		}
	}
	if !results.Opening.IsValid() && len(names) > 0 {
		ins = append(ins, insertion{at: offset(results.Pos()), text: "("}, insertion{at: offset(results.End()), text: ")"})
	}
	return names, ins
}

// declares reports whether the body may give a name another meaning.
func (fn *Function) declares(name string) bool {
	found := false
	is := func(e ast.Expr) {
		id, ok := e.(*ast.Ident)
		found = found || ok && id.Name == name
	}
	inside(fn.Body, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					is(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				is(n.Key)
				is(n.Value)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				is(id)
			}
		case *ast.TypeSpec:
			is(n.Name)
		}
	})
	return found
}
