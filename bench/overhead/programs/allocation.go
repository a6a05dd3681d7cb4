package main

import "sync/atomic"

type node struct{ left, right *node }

// allocation is two goroutines that grow trees of a thousand nodes, count them and
// drop them: the allocator and the collector are busy. An operation is one tree.
func allocation() *atomic.Int64 {
	n := new(atomic.Int64)
	for range 2 {
		go func() {
			for {
				if t := grow(10); count(t) != 1<<10-1 {
					panic("the tree lost nodes")
				}
				n.Add(1)
			}
		}()
	}
	return n
}

func grow(depth int) *node { return tree(depth) }

func tree(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func count(t *node) int {
	if t == nil {
		return 0
	}
	return 1 + count(t.left) + count(t.right)
}
