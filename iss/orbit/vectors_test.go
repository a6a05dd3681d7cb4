package orbit

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// vector is a case of the published verification: an element set and the times asked for.
type vector struct {
	Elements
	start, end, step float64 // minutes
}

// vectors reads SGP4-VER.TLE: TLE with three numbers after line 2. Three sets that
// were made up to provoke errors have no right checksum; these get one.
func vectors(t testing.TB) []vector {
	data, err := os.ReadFile("testdata/SGP4-VER.TLE")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	var first string
	for s := range strings.Lines(string(data)) {
		s = strings.TrimRight(s, "\r\n")
		switch {
		case strings.HasPrefix(s, "1 "):
			first = s[:68] + string(checksum(s))
		case strings.HasPrefix(s, "2 "):
			var v vector
			if _, err := fmt.Sscan(s[69:], &v.start, &v.end, &v.step); err != nil {
				t.Fatal(err)
			}
			v.Elements, err = ParseTLE(first + "\n" + s[:68] + string(checksum(s)))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
	}
	return all
}

// expected is a line of tcppver.out.
type expected struct {
	minutes float64
	state   State
}

// answers reads tcppver.out: for each element set its number, then a line a time.
func answers(t testing.TB) (numbers []int, lines [][]expected) {
	f, err := os.Open("testdata/tcppver.out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if number, ok := strings.CutSuffix(strings.TrimSpace(s.Text()), " xx"); ok {
			var n int
			fmt.Sscan(number, &n)
			numbers, lines = append(numbers, n), append(lines, nil)
			continue
		}
		var e expected
		r, v := &e.state.Position, &e.state.Velocity
		if _, err := fmt.Sscan(s.Text(), &e.minutes, &r.X, &r.Y, &r.Z, &v.X, &v.Y, &v.Z); err != nil {
			t.Fatal(err)
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], e)
	}
	return numbers, lines
}

// largest difference of two vectors by component.
func largest(a, b Vector) float64 {
	d := a.sub(b)
	return max(math.Abs(d.X), math.Abs(d.Y), math.Abs(d.Z))
}

// Every state of tcppver.out is met. It was made with WGS72 and the improved mode: with
// AFSPC object 23599 is up to 1 km away from minute 420 on (and all others are as near).
//
// On arm64 Go fuses products and sums. That changes last bits, 1e-16 of the angles, and the
// largest difference there is 1e-7 km, too: nothing takes so much from so much that a
// bit would show in 1e-6 km, but for 1 + cos i, which has its own care in sincos.
//
// Object 33334 has error 3 at epoch. The published program printed what the state of the
// set before it was, so that line is not of this orbit.
func TestVectors(t *testing.T) {
	sets := vectors(t)
	numbers, lines := answers(t)
	if len(sets) != 33 || len(numbers) != len(sets) {
		t.Fatalf("%d sets, %d answers", len(sets), len(numbers))
	}
	for _, mode := range []Mode{Improved, AFSPC} {
		n, worstR, worstV := 0, 0., 0.
		for i, v := range sets {
			if numbers[i] != v.Number {
				t.Fatalf("set %d is of object %d, its answer of %d", i, v.Number, numbers[i])
			}
			o, err := New(v.Elements, WGS72, mode)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range lines[i] {
				got, err := o.At(want.minutes)
				if v.Number == 33334 {
					if err != ErrPerturbed || got != (State{}) {
						t.Errorf("object 33334 at %g: %v, %v", want.minutes, got, err)
					}
					continue
				}
				dr, dv := largest(got.Position, want.state.Position), largest(got.Velocity, want.state.Velocity)
				if mode == AFSPC && v.Number == 23599 && want.minutes >= 420 {
					if err != nil || dr < .1 || dr > 1 {
						t.Errorf("AFSPC: object 23599 at %g: differs by %g km, %v", want.minutes, dr, err)
					}
					continue
				}
				n++
				worstR, worstV = max(worstR, dr), max(worstV, dv)
				if err != nil || dr > 1e-6 || dv > 1e-9 {
					t.Errorf("%v: object %d at %g: off by %.3g km, %.3g km/s, %v", mode, v.Number, want.minutes, dr, dv, err)
				}
			}
		}
		if n < 666-16 {
			t.Errorf("%d states compared", n)
		}
		t.Logf("%v: %d states, differences up to %.2g km and %.2g km/s", mode, n, worstR, worstV)
	}
}

// The errors at all times that SGP4-VER.TLE asks for, by place in the file: from each
// minute on, the number. This is what the published C++ (of 2023 May 9) gives; all other sets have none.
func TestVectorErrors(t *testing.T) {
	type from struct {
		minutes float64
		code    int
	}
	want := map[int][]from{
		11: {{494.2028672, 1}},                              // 22312
		22: {{1560, 1}},                                     // 28350
		25: {{55, 6}},                                       // 28872
		26: {{440, 6}},                                      // 29141
		29: {{25, 4}, {50, 0}, {85, 4}, {115, 0}, {145, 4}}, // 33333
		30: {{0, 3}, {69, 1}},                               // 33334
		32: {{1844345, 6}, {1844360, 0}},                    // 20413
	}
	for i, v := range vectors(t) {
		o, err := New(v.Elements, WGS72, Improved)
		if err != nil {
			t.Fatal(err)
		}
		code := 0
		var got []from
		times := []float64{0}
		for m := v.start; m < v.end; m += v.step {
			times = append(times, m)
		}
		for _, m := range append(times, v.end) {
			_, err := o.At(m)
			if c := Code(err); c != code {
				code = c
				got = append(got, from{m, c})
			}
		}
		if !slices.EqualFunc(got, want[i], func(a, b from) bool { return a.code == b.code && math.Abs(a.minutes-b.minutes) < 1e-6 }) {
			t.Errorf("set %d, object %d: errors %v, want %v", i, v.Number, got, want[i])
		}
	}
}
