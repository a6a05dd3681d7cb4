package quantity

import (
	"math"
	"testing"
)

func TestRead(t *testing.T) {
	rate := func(s string) (float64, error) { return Rate(s) }
	size := func(s string) (float64, error) { n, err := Size(s); return float64(n), err }
	share := func(s string) (float64, error) { return Share(s) }
	for _, c := range []struct {
		read func(string) (float64, error)
		text string
		want float64 // NaN: refused
	}{
		{rate, "10mbit", 1e7}, {rate, "10Mbit/s", 1e7}, {rate, "10 Mbps", 1e7}, {rate, "1.5Gbit", 1.5e9}, {rate, "800kbit", 8e5},
		{rate, "64000", 64000}, {rate, "64000bit", 64000}, {rate, "1MB/s", 8e6}, {rate, "1MBps", 8e6}, {rate, "100k", 1e5}, {rate, "3Mb", 3e6}, {rate, "0", 0},
		{rate, "", math.NaN()}, {rate, "mbit", math.NaN()}, {rate, "-1mbit", math.NaN()}, {rate, "1furlong", math.NaN()}, {rate, "NaN", math.NaN()}, {rate, "1e3", math.NaN()},
		{size, "710KB", 710000}, {size, "710kb", 710000}, {size, "64KiB", 65536}, {size, "64k", 64000}, {size, "1.5MB", 1.5e6}, {size, "1500", 1500}, {size, "1500B", 1500}, {size, "1 MiB", 1 << 20},
		{size, "", math.NaN()}, {size, "-1", math.NaN()}, {size, "12x", math.NaN()}, {size, "9999999999GB", math.NaN()},
		{share, "1%", .01}, {share, "0.5", .005}, {share, "100%", 1}, {share, "0", 0}, {share, "101", math.NaN()}, {share, "-1%", math.NaN()}, {share, "", math.NaN()}, {share, "NaN", math.NaN()},
	} {
		got, err := c.read(c.text)
		if refused := math.IsNaN(c.want); refused != (err != nil) || !refused && math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"10mbit", "64KB", "1%", "-", "1e9", "i"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if x, err := Rate(s); err == nil && !(x >= 0) {
			t.Errorf("rate %q is %v", s, x)
		}
		if x, err := Size(s); err == nil && x < 0 {
			t.Errorf("size %q is %v", s, x)
		}
		if x, err := Share(s); err == nil && !(x >= 0 && x <= 1) {
			t.Errorf("share %q is %v", s, x)
		}
	})
}
