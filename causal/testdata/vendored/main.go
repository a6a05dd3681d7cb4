// Vendored works in a package of its vendor directory.
package main

import "example.org/dep"

func main() {
	for {
		dep.Work()
	}
}
