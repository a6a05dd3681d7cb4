package orbit

import (
	"math"
	"sort"
	"time"
)

// JulianDate is a moment in days, in two parts because one float64 tells moments
// apart only to 40 microseconds. Day is that of the midnight before (it ends in .5), Fraction is
// 0 up to 1. The scale (UTC, UT1) is the caller's.
type JulianDate struct{ Day, Fraction float64 }

const dayNs = 86400 * int64(time.Second)

// Julian date of t in UTC, to the nanosecond. A leap second is the next day's first.
func Julian(t time.Time) JulianDate {
	s := t.Unix()
	day := s / 86400
	if s%86400 < 0 {
		day--
	}
	ns := (s-day*86400)*int64(time.Second) + int64(t.Nanosecond())
	return JulianDate{2440587.5 + float64(day), float64(ns) / float64(dayNs)}
}

// since J2000.0 (2000 January 1, noon) in days.
func (j JulianDate) since2000() float64 { return (j.Day - 2451545) + j.Fraction }

// add seconds.
func (j JulianDate) add(seconds float64) JulianDate {
	f := j.Fraction + seconds/86400
	whole := math.Floor(f)
	return JulianDate{j.Day + whole, f - whole}
}

// UT1 is the Julian date by the Earth's rotation, which runs up to .9 s before or
// after UTC. It is known from observation alone: between 1973 and the end of the
// table in ut1.go (UT1Until) this is right to 7 ms, and so are longitudes to 3e-5
// degrees; earlier and later moments take the nearest known difference from UTC, which is
// at most .9 s or .004 degrees off as long as there are leap seconds.
func UT1(t time.Time) JulianDate {
	j := Julian(t)
	at := (j.Day - ut1First) + j.Fraction
	at = min(max(at, 0), float64(ut1Step*(len(taiLessUT1)-1)))
	i := min(int(at/ut1Step), len(taiLessUT1)-2)
	x := at/ut1Step - float64(i)
	ms := float64(taiLessUT1[i])*(1-x) + float64(taiLessUT1[i+1])*x
	return j.add(taiLessUTC(ut1First+at) - ms/1000)
}

// UT1Until is when the observed and predicted differences between UT1 and UTC end.
func UT1Until() time.Time {
	days := ut1First - 2440587.5 + float64(ut1Step*(len(taiLessUT1)-1))
	return time.Unix(int64(days*86400), 0).UTC()
}

// taiLessUTC is the number of seconds at a Julian date from 1973 on.
func taiLessUTC(day float64) float64 {
	return 12 + float64(sort.Search(len(leapSeconds), func(i int) bool { return leapSeconds[i] > day }))
}

// SiderealTime at Greenwich, mean, in radians, 0 up to 2π: the IAU's expression of
// 1982, which defines the equinox of SGP4's coordinates. S. Aoki et al., "The new
// definition of universal time", Astron. Astrophys. 105 (1982) 359-361.
func SiderealTime(ut1 JulianDate) float64 {
	c := ut1.since2000() / 36525
	s := 67310.54841 + c*(8640184.812866+c*(.093104-c*6.2e-6))
	// The rest of Aoki's linear term is one turn a day: leave out whole days.
	s += 86400 * (math.Mod(ut1.Day-2451545, 1) + ut1.Fraction)
	s = math.Mod(s, 86400)
	if s < 0 {
		s += 86400
	}
	return s * (twoPi / 86400)
}

// siderealAtEpoch is what the deep-space equations turn the Earth's field by. UTC
// stands for UT1, as elements are fitted that way.
func siderealAtEpoch(epoch JulianDate, mode Mode) float64 {
	if mode != AFSPC {
		return SiderealTime(epoch)
	}
	// Spacetrack Report #3, function THETAG: from days since 1970 January 0.
	days := (epoch.Day - 2440586.5) + epoch.Fraction
	whole := math.Floor(days + 1e-8)
	theta := math.Mod(1.7321343856509374+1.72027916940703639e-2*whole+
		(1.72027916940703639e-2+twoPi)*(days-whole)+days*days*5.07551419432269442e-15, twoPi)
	if theta < 0 {
		theta += twoPi
	}
	return theta
}
