package dist

import (
	"hash/fnv"
	"math"
	"math/bits"
)

// Stream is a sequence of random numbers: O'Neill's PCG with 128 bits of state
// and the DXSM output function. Streams of different names are independent of
// each other, so that adding a node to a network leaves the numbers of all
// others as they were, and two cases that share a seed see the same luck.
type Stream struct{ hi, lo, incHi, incLo uint64 }

// NewStream gives the stream of a name under a seed.
func NewStream(seed uint64, name string) *Stream {
	h := fnv.New128a()
	h.Write([]byte(name))
	sum := h.Sum(nil)
	word := func(b []byte) (x uint64) {
		for _, c := range b {
			x = x<<8 | uint64(c)
		}
		return x
	}
	s := &Stream{incHi: word(sum[:8]), incLo: word(sum[8:]) | 1}
	s.hi, s.lo = mix(seed), mix(seed^0x9e3779b97f4a7c15)
	s.Uint64()
	s.Uint64()
	return s
}

// mix is the finalizer of MurmurHash3: seeds that differ in a bit differ in half of them.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Uint64 is uniform over all 64-bit numbers.
func (s *Stream) Uint64() uint64 {
	const cheap = 0xda942042e4dd58b5
	hi, lo := s.hi, s.lo
	// The state moves on: times the cheap multiplier, plus the stream's increment.
	h, l := bits.Mul64(lo, cheap)
	h += hi * cheap
	var carry uint64
	s.lo, carry = bits.Add64(l, s.incLo, 0)
	s.hi, _ = bits.Add64(h, s.incHi, carry)
	// The output: double xorshift multiply.
	hi ^= hi >> 32
	hi *= cheap
	hi ^= hi >> 48
	return hi * (lo | 1)
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
