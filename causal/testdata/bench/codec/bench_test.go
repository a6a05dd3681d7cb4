package codec

import (
	"os"
	"testing"
)

func BenchmarkWork(b *testing.B) {
	if _, err := os.Stat("testdata/input"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Work()
	}
}
