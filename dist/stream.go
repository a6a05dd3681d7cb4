package dist

import (
	"math"
	"math/bits"
)

// Stream is a sequence of random numbers: SplitMix64 (G. L. Steele, D. Lea,
// C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). It
// is two words, so that every node of a network, and every request in it, can
// have its own: then a request has the same luck whatever way it takes, adding a
// node leaves the numbers of all others as they were, and two cases that share a
// seed differ by the change alone.
type Stream struct{ state, gamma uint64 }

const golden = 0x9e3779b97f4a7c15

// NewStream gives the stream of a name under a seed.
func NewStream(seed uint64, name string) *Stream {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	s := At(Hash(seed) ^ mix(h))
	return &s
}

// At gives the stream of a key. Streams of different keys are independent.
func At(key uint64) Stream {
	// The increments are odd, and not too regular: Steele's advice.
	g := mix(key^0xd1342543de82ef95) | 1
	if bits.OnesCount64(g^g>>1) < 24 {
		g ^= 0xaaaaaaaaaaaaaaaa
	}
	return Stream{mix(key), g}
}

// mix is the finalizer of SplitMix64 (D. Stafford's variant 13): it makes numbers
// that differ in a bit differ in half of them.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Hash makes a number of which every bit depends on every bit of x: one step of
// SplitMix64 from the state x.
func Hash(x uint64) uint64 { return mix(x + golden) }

// Uint64 is uniform over all 64-bit numbers.
func (s *Stream) Uint64() uint64 {
	s.state += s.gamma
	return mix(s.state)
}

// Float64 is uniform in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Open is uniform in (0, 1).
func (s *Stream) Open() float64 { return (float64(s.Uint64()>>12) + 0.5) * 0x1p-52 }

// Exp is exponential with mean 1: the logarithm of one uniform number, so that
// streams under different parameters stay in step.
func (s *Stream) Exp() float64 { return -math.Log(s.Open()) }

// IntN is uniform in [0, n), by D. Lemire's multiplication, "Fast random integer
// generation in an interval", ACM Trans. Model. Comput. Simul. 29 (2019). n must be positive.
func (s *Stream) IntN(n int) int {
	hi, lo := bits.Mul64(s.Uint64(), uint64(n))
	if lo < uint64(n) {
		for least := -uint64(n) % uint64(n); lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), uint64(n))
		}
	}
	return int(hi)
}

// Norm is normal with mean 0 and variance 1, by the inverse of the distribution function.
func (s *Stream) Norm() float64 { return math.Sqrt2 * math.Erfinv(2*s.Open()-1) }
