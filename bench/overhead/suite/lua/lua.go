// Command lua runs a script in an interpreter, over and over.
package main

import (
	_ "embed"

	lua "github.com/yuin/gopher-lua"

	"github.com/headway-lab/headway/bench/overhead/suite/loop"
)

var operations loop.Operations

func main() { loop.Run(&operations, interpret) }

//go:embed work.lua
var script string

// interpret is one goroutine in which an interpreter runs a script; an operation is one call of its function work.
func interpret() (func() error, int, error) {
	state := lua.NewState()
	if err := state.DoString(script); err != nil {
		return nil, 0, err
	}
	call := lua.P{Fn: state.GetGlobal("work"), Protect: true}
	return func() error { return state.CallByParam(call) }, 1, nil
}
