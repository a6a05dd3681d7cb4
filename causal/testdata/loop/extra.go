//go:build extra

package main

func init() {
	go func() {
		for {
			extra()
		}
	}()
}

//go:noinline
func extra() { spin(300_000) }
