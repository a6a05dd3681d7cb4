package histogram

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Int64Range(0, math.MaxInt64).Draw(t, "x")
		if m := middle(bucket(x)); math.Abs(m-float64(x)) > float64(x)/1024+.5 {
			t.Fatalf("%d becomes %g", x, m)
		}
		if x > 0 && bucket(x) < bucket(x-1) {
			t.Fatalf("bucket %d of %d lies below %d of %d", bucket(x), x, bucket(x-1), x-1)
		}
	})
}
