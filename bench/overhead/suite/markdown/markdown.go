// Command markdown renders a document, over and over.
package main

import (
	"errors"
	"os"

	"gitlab.com/golang-commonmark/markdown"

	"github.com/headway-lab/headway/bench/overhead/suite/loop"
)

var operations loop.Operations

func main() { loop.Run(&operations, render) }

// document is what is rendered, seen from where the program runs: the module.
const document = "../../../docs/sim.md"

// render is one goroutine that renders a document; an operation is one.
func render() (func() error, int, error) {
	text, err := os.ReadFile(document)
	if err != nil {
		return nil, 0, err
	}
	m := markdown.New(markdown.XHTMLOutput(true), markdown.Tables(true), markdown.MaxNesting(8), markdown.Typographer(true), markdown.Linkify(true))
	return func() error {
		if m.RenderToString(text) == "" {
			return errors.New("nothing was rendered")
		}
		return nil
	}, 1, nil
}
