package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// signed is a change in percent with its sign: +24.2, -3.0, 0.0, with three digits from 100 on.
func signed(x float64) string {
	switch {
	case math.IsNaN(x):
		return "?"
	case math.IsInf(x, 1):
		return "+∞"
	case math.IsInf(x, -1):
		return "-∞"
	}
	digits := 1
	if math.Abs(x) >= 99.95 {
		digits = 0
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if s == "-0.0" || s == "0.0" {
		return "0.0"
	}
	if x > 0 {
		s = "+" + s
	}
	return grouped(s)
}

// bound is an end of an interval, in percent: to a tenth below ten.
func bound(x float64) string {
	if r := math.Round(x); math.Abs(x) >= 9.95 {
		return strings.TrimSuffix(signed(r), ".0")
	}
	return signed(x)
}

// plusMinus is half the width of an interval, such as ±1.1.
func plusMinus(low, high float64) string {
	half := (high - low) / 2
	if !isFinite(half) {
		return "±∞"
	}
	return "±" + strings.TrimPrefix(signed(half), "+")
}

// figure is x with four significant digits and no exponent.
func figure(x float64) string {
	if !isFinite(x) {
		return strings.TrimPrefix(signed(x), "+")
	}
	if x == 0 {
		return "0"
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits > 12 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	s := strconv.FormatFloat(x, 'f', max(digits, 0), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return grouped(s)
}

// grouped puts a thin space between the thousands of long numbers.
func grouped(s string) string {
	whole, rest, _ := strings.Cut(s, ".")
	if rest != "" {
		rest = "." + rest
	}
	start := strings.IndexAny(whole, "0123456789")
	if start < 0 || len(whole)-start <= 4 {
		return s
	}
	for i := len(whole) - 3; i > start; i -= 3 {
		whole = whole[:i] + "\u202f" + whole[i:]
	}
	return whole + rest
}

// withUnit is a value and its unit.
func withUnit(x float64, unit string) string {
	if unit == "" {
		return figure(x)
	}
	return figure(x) + "\u00a0" + unit
}

// fact is a value of a group, such as "share 24.1 %".
func fact(name string, v Value) string {
	unit := v.Unit
	if unit == "" && strings.Contains(strings.ToLower(name), "share") {
		unit = "%"
	}
	if unit == "%" {
		return fmt.Sprintf("%.1f %%", v.Value)
	}
	return withUnit(v.Value, unit)
}

// percentOf is a parameter such as "25 %".
func percentOf(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) + " %" }
