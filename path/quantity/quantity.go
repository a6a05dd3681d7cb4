// Package quantity reads what people write on a command line about networks: 10mbit,
// 64KB, 1%.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate reads a rate in bit/s: 10mbit, 1.5Gbit/s, 800kbit; a bare number is bit/s. The prefixes
// are decimal, as in telecommunication. B for bytes, as in 1MB/s, is understood too.
func Rate(s string) (float64, error) {
	number, unit := split(s)
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || x < 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, fmt.Errorf("%q is no rate: want a number and bit, kbit, mbit or gbit, as in 10mbit", s)
	}
	// Case tells bits from bytes alone: MB is megabytes, mb and Mb are megabits.
	base := strings.TrimSuffix(strings.TrimSuffix(unit, "/s"), "ps")
	times := 1.0
	if base != "" {
		if p := strings.IndexByte("kmgt", lower(base[0])); p >= 0 {
			times, base = math.Pow(1000, float64(p+1)), base[1:]
		}
	}
	switch {
	case base == "B" || strings.EqualFold(base, "byte") || strings.EqualFold(base, "bytes"):
		times *= 8
	case base == "" || base == "b" || strings.EqualFold(base, "bit") || strings.EqualFold(base, "bits"):
	default:
		return 0, fmt.Errorf("%q is no rate: unit %q is none of bit, kbit, mbit, gbit", s, unit)
	}
	return x * times, nil
}

// Size reads a number of bytes: 710KB, 64KiB, 1.5MB, 1500. KB and k are 1000 bytes, KiB are 1024.
func Size(s string) (int64, error) {
	number, unit := split(s)
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !(x >= 0) {
		return 0, fmt.Errorf("%q is no size: want a number and B, KB, MB, GB, KiB or MiB, as in 710KB", s)
	}
	u := strings.ToLower(unit)
	times := 1.0
	if u != "" {
		if p := strings.IndexByte("kmgt", u[0]); p >= 0 {
			base := 1000.0
			if u = u[1:]; strings.HasPrefix(u, "i") {
				base, u = 1024, u[1:]
			}
			times = math.Pow(base, float64(p+1))
		}
	}
	if u != "" && u != "b" && u != "byte" && u != "bytes" {
		return 0, fmt.Errorf("%q is no size: unit %q is none of B, KB, MB, GB, KiB, MiB", s, unit)
	}
	if x *= times; x >= 1<<62 {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return int64(math.Round(x)), nil
}

// Share reads a share in percent, with the sign or without, as a number from 0 to 1: both 1% and
// 1 are 0.01.
func Share(s string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(x >= 0 && x <= 100) {
		return 0, fmt.Errorf("%q is no share: want percent from 0 to 100, as in 0.5%%", s)
	}
	return x / 100, nil
}

// split parts a number from its unit.
func split(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789.+-", r) })
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
