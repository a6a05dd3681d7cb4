package main

import "github.com/headway-lab/headway/bench/truth/harness"

func init() {
	add("seq-2-1", 0, sequential(2./3, 1./3))
	add("seq-3-7", 0, sequential(.3, .7))
}

// sequential does A, then B.
func sequential(a, b float64) func(harness.Config) {
	return func(c harness.Config) {
		na, nb := c.A(a), c.B(b)
		for {
			siteA(na)
			siteB(nb)
			progress()
		}
	}
}
