// App works in another module of its workspace.
package main

import "example.org/lib"

func main() {
	for {
		lib.Work()
	}
}
