// Command esbuild bundles and minifies TypeScript, over and over.
package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"runtime"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/headway-lab/headway/bench/overhead/suite/loop"
)

var operations loop.Operations

func main() { loop.Run(&operations, bundle) }

// bundle is one goroutine that bundles and minifies a part of esbuild's own TypeScript, for which esbuild starts many; an operation is one bundle.
func bundle() (func() error, int, error) {
	// It lies beside esbuild's Go source, wherever that was built from.
	file, _ := runtime.FuncForPC(reflect.ValueOf(api.Build).Pointer()).FileLine(reflect.ValueOf(api.Build).Pointer())
	o := api.BuildOptions{
		EntryPoints:       []string{filepath.Join(filepath.Dir(file), "../../lib/npm/node-install.ts")},
		Bundle:            true,
		Platform:          api.PlatformNode,
		Packages:          api.PackagesExternal,
		Sourcemap:         api.SourceMapExternal,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Outdir:            "nowhere", // nothing is written
	}
	return func() error {
		r := api.Build(o)
		switch {
		case len(r.Errors) > 0:
			return errors.New(r.Errors[0].Text)
		case len(r.OutputFiles) == 0:
			return errors.New("nothing was bundled")
		}
		return nil
	}, 1, nil
}
