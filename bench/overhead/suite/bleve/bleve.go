// Command bleve adds documents to an index, over and over.
package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"

	"github.com/headway-lab/headway/bench/overhead/suite/loop"
)

var operations loop.Operations

func main() { loop.Run(&operations, index) }

// index is one goroutine that adds documents to an index in memory, in batches, whose own goroutines merge
// and persist them; an operation is a batch. It begins with a new one often: in a larger index an operation takes longer, and
// the two that are compared are not as far at the same time.
func index() (func() error, int, error) {
	const (
		batch   = 4
		batches = 50
	)
	text, err := os.ReadFile("../../../docs/sim.md") // from where the program runs, the module
	if err != nil {
		return nil, 0, err
	}
	paragraphs := strings.Split(string(text), "\n\n")
	var (
		open bleve.Index
		n    int
	)
	return func() error {
		if n%batches == 0 {
			if open != nil {
				if err := open.Close(); err != nil {
					return err
				}
			}
			var err error
			if open, err = bleve.NewMemOnly(bleve.NewIndexMapping()); err != nil {
				return err
			}
		}
		n++
		b := open.NewBatch()
		for i := range batch {
			k := n*batch + i
			content := map[string]string{"title": "paragraph " + strconv.Itoa(k), "text": paragraphs[k%len(paragraphs)]}
			if err := b.Index(strconv.Itoa(k), content); err != nil {
				return err
			}
		}
		return open.Batch(b)
	}, 1, nil
}
