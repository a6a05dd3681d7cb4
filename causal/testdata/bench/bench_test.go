package bench

import "testing"

func BenchmarkWork(b *testing.B) {
	for b.Loop() {
		Work()
	}
}
