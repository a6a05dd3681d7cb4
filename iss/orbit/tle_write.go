package orbit

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// TLE writes the elements as two lines, rounded to the digits that these have. It
// refuses what the format cannot hold, catalogue numbers above 339999 first of all.
func (e Elements) TLE() (line1, line2 string, err error) {
	if err := e.check(); err != nil {
		return "", "", err
	}
	number, err := shortNumber(e.Number)
	if err != nil {
		return "", "", err
	}
	designator, err := shortDesignator(e.Designator)
	if err != nil {
		return "", "", err
	}
	epoch, err := shortEpoch(e.Epoch)
	if err != nil {
		return "", "", err
	}
	for _, v := range []struct {
		name   string
		x, max int
	}{
		{"ephemeris type", e.EphemerisType, 9},
		{"set number", e.SetNumber, 9999},
	} {
		if v.x < 0 || v.x > v.max {
			return "", "", fmt.Errorf("orbit: %s %d of object %d: a TLE holds 0 to %d", v.name, v.x, e.Number, v.max)
		}
	}
	if e.RevolutionCount < 0 {
		return "", "", fmt.Errorf("orbit: revolution count %d of object %d is negative", e.RevolutionCount, e.Number)
	}
	dot := fmt.Sprintf("%+.8f", e.MeanMotionDot)
	if dot[1] != '0' || len(dot) != 11 {
		return "", "", fmt.Errorf("orbit: derivative of mean motion %g of object %d: a TLE holds less than 1", e.MeanMotionDot, e.Number)
	}
	ddot, err := exponential(e.MeanMotionDDot)
	if err != nil {
		return "", "", err
	}
	bstar, err := exponential(e.BStar)
	if err != nil {
		return "", "", err
	}
	eccentricity := math.Round(e.Eccentricity * 1e7)
	motion := fmt.Sprintf("%11.8f", e.MeanMotion)
	if eccentricity > 9999999 || len(motion) != 11 {
		return "", "", fmt.Errorf("orbit: eccentricity %g or mean motion %g of object %d does not fit a TLE", e.Eccentricity, e.MeanMotion, e.Number)
	}
	class := e.Classification
	if class == 0 {
		class = 'U'
	}
	if !strings.ContainsRune("UCS", rune(class)) {
		return "", "", fmt.Errorf("orbit: classification %q of object %d: a TLE holds U, C or S", class, e.Number)
	}
	line1 = fmt.Sprintf("1 %s%c %-8s %s %s%s %s %s %d %4d", number, class, designator, epoch,
		strings.Replace(dot[:1], "+", " ", 1), dot[2:], ddot, bstar, e.EphemerisType, e.SetNumber)
	line2 = fmt.Sprintf("2 %s %8.4f %8.4f %07.0f %8.4f %8.4f %s%5d", number, e.Inclination, wrap(e.Node),
		eccentricity, wrap(e.ArgPerigee), wrap(e.MeanAnomaly), motion, e.RevolutionCount%100000)
	return line1 + string(checksum(line1)), line2 + string(checksum(line2)), nil
}

// wrap gives an angle in degrees as four decimals show it, 0 up to 360.
func wrap(x float64) float64 {
	x = math.Mod(math.Round(x*1e4), 360e4)
	if x < 0 {
		x += 360e4
	}
	return math.Abs(x) / 1e4 // not -0
}

func shortNumber(n int) (string, error) {
	switch {
	case n < 0 || n > 339999:
		return "", fmt.Errorf("orbit: catalogue number %d does not fit a TLE, which holds 0 to 339999; write an OMM", n)
	case n < 100000:
		return fmt.Sprintf("%05d", n), nil
	}
	return fmt.Sprintf("%c%04d", alpha5[n/10000-10], n%10000), nil
}

// shortDesignator writes 1998-067A as 98067A.
func shortDesignator(s string) (string, error) {
	short := s
	if len(s) > 5 && s[4] == '-' && numeric(s[:4]) && s[:4] >= "1957" && s[:4] <= "2056" {
		if longDesignator(s[2:4]+s[5:]) == s {
			short = s[2:4] + s[5:]
		}
	}
	ok := len(short) <= 8 && short == strings.TrimSpace(short)
	for i := range len(short) {
		ok = ok && short[i] >= ' ' && short[i] <= '~'
	}
	if !ok {
		return "", fmt.Errorf("orbit: designator %q does not fit a TLE", s)
	}
	return short, nil
}

// shortEpoch writes a moment as year, day, and the day's hundred-millionths.
func shortEpoch(t time.Time) (string, error) {
	t = t.UTC()
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	const unit = 864 * time.Microsecond
	n := (t.Sub(midnight) + unit/2) / unit
	if n == 1e8 {
		midnight, n = midnight.AddDate(0, 0, 1), 0
	}
	if y := midnight.Year(); y < 1957 || y > 2056 {
		return "", fmt.Errorf("orbit: epoch %v does not fit a TLE, which holds 1957 to 2056", t)
	}
	return fmt.Sprintf("%02d%03d.%08d", midnight.Year()%100, midnight.YearDay(), n), nil
}

// exponential writes -.11606e-4 as "-11606-4". What is below 1e-15 is written as 0.
func exponential(x float64) (string, error) {
	sign := ' '
	if x < 0 {
		sign = '-'
	}
	if x == 0 || math.Abs(x) < .5e-14 {
		return " 00000+0", nil
	}
	text := fmt.Sprintf("%.4e", math.Abs(x)) // 1.1606e-05
	var whole, part, e int
	if _, err := fmt.Sscanf(text, "%d.%de%d", &whole, &part, &e); err != nil {
		return "", fmt.Errorf("orbit: %g does not fit a TLE", x)
	}
	n := whole*10000 + part
	e++
	for ; e < -9; e++ { // fewer digits
		n = (n + 5) / 10
	}
	if e > 9 {
		return "", fmt.Errorf("orbit: %g does not fit a TLE", x)
	}
	return fmt.Sprintf("%c%05d%+d", sign, n, e), nil
}
