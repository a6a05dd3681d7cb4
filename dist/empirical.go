package dist

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// empirical draws from recorded values in constant time, by A. J. Walker's alias
// method ("An efficient method for generating discrete random variables with
// general distributions", ACM Trans. Math. Softw. 3 (1977) 253-256), set up as M. D. Vose does.
type empirical struct {
	name           string
	values         []float64
	cut            []float64 // nil where all weigh the same
	alias          []int32
	mean, variance float64
}

// Empirical draws one of values, each as often as its weight says; weights nil
// means equally often. The name is for messages.
func Empirical(name string, values, weights []float64) (Dist, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: there are no values to draw from", name)
	}
	if len(values) > math.MaxInt32 {
		return nil, fmt.Errorf("%s: %d values are too many", name, len(values))
	}
	if weights != nil && len(weights) != len(values) {
		return nil, fmt.Errorf("%s: %d values with %d weights", name, len(values), len(weights))
	}
	total := 0.0
	weight := func(i int) float64 {
		if weights == nil {
			return 1
		}
		return weights[i]
	}
	for i, v := range values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: value %d is %g; want numbers from 0 up", name, i+1, v)
		}
		if w := weight(i); !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("%s: weight %d is %g; want numbers from 0 up", name, i+1, w)
		}
		total += weight(i)
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, fmt.Errorf("%s: the weights add up to %g", name, total)
	}
	d := &empirical{name: name, values: values}
	for i, v := range values {
		d.mean += v * (weight(i) / total)
	}
	for i, v := range values {
		d.variance += (v - d.mean) * (v - d.mean) * (weight(i) / total)
	}
	if math.IsInf(d.mean, 0) || math.IsNaN(d.mean) {
		return nil, fmt.Errorf("%s: the values are too large to average", name)
	}
	if weights != nil {
		d.table(weights, total)
	}
	return d, nil
}

// table sets up the alias method: every column holds at most two values.
func (d *empirical) table(weights []float64, total float64) {
	n := len(weights)
	d.cut, d.alias = make([]float64, n), make([]int32, n)
	var small, large []int32
	for i, w := range weights {
		d.cut[i] = w / total * float64(n)
		if d.cut[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		d.alias[s] = l
		if d.cut[l] -= 1 - d.cut[s]; d.cut[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, rest := range [][]int32{small, large} { // 1, but for rounding
		for _, i := range rest {
			d.cut[i] = 1
		}
	}
}

func (d *empirical) Draw(s *Stream) float64 {
	i := s.IntN(len(d.values))
	if d.cut != nil && s.Float64() >= d.cut[i] {
		i = int(d.alias[i])
	}
	return d.values[i]
}
func (d *empirical) Mean() float64     { return d.mean }
func (d *empirical) Variance() float64 { return d.variance }
func (d *empirical) String() string    { return fmt.Sprintf("empirical(%q)", d.name) }

// most is how many values a file may hold.
const most = 50_000_000

// ReadValues is the distribution of the numbers that [Values] reads.
func ReadValues(name string, r io.Reader) (Dist, error) {
	values, err := Values(name, r)
	if err != nil {
		return nil, err
	}
	return Empirical(name, values, nil)
}

// Values reads one number a line. Empty lines and lines that begin with # do not count.
func Values(name string, r io.Reader) ([]float64, error) {
	var values []float64
	scan := bufio.NewScanner(r)
	for line := 1; scan.Scan(); line++ {
		text := strings.TrimSpace(scan.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q is not a number", name, line, clip(text))
		}
		if values = append(values, v); len(values) > most {
			return nil, fmt.Errorf("%s: more than %d values", name, most)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return values, nil
}

// ReadCSV is the distribution of the numbers that [Column] reads.
func ReadCSV(name string, r io.Reader, column string) (Dist, error) {
	values, err := Column(name, r, column)
	if err != nil {
		return nil, err
	}
	return Empirical(name, values, nil)
}

// Column reads the numbers of one column of a CSV file, named by its heading.
func Column(name string, r io.Reader, column string) ([]float64, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty; want a line of headings", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	at := -1
	for i, h := range head {
		if strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")) == column {
			at = i
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("%s: no column %q; the headings are %s", name, column, clip(strings.Join(head, ", ")))
	}
	var values []float64
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(row[at]), 64)
		if err != nil {
			line, _ := c.FieldPos(at)
			return nil, fmt.Errorf("%s:%d: %q in column %s is not a number", name, line, clip(row[at]), column)
		}
		if values = append(values, v); len(values) > most {
			return nil, fmt.Errorf("%s: more than %d values", name, most)
		}
	}
	return values, nil
}

// ReadHDR reads an HDR histogram log, all its intervals together. Each recorded
// value counts as the middle of its bucket, times scale: .001 turns microseconds
// into milliseconds.
func ReadHDR(name string, r io.Reader, scale float64) (_ Dist, err error) {
	defer func() {
		// The library indexes by what the file says.
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: not an HDR histogram log: %v", name, p)
		}
	}()
	logs := hdrhistogram.NewHistogramLogReader(io.LimitReader(r, 1<<28))
	counts := map[float64]float64{}
	var values, weights []float64
	for {
		h, err := logs.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("%s: not an HDR histogram log: %w", name, err)
		}
		if h == nil {
			break
		}
		for _, bar := range h.Distribution() {
			if bar.Count > 0 {
				v := scale * float64(bar.From+bar.To) / 2
				if _, ok := counts[v]; !ok {
					values = append(values, v)
				}
				counts[v] += float64(bar.Count)
			}
		}
	}
	for _, v := range values {
		weights = append(weights, counts[v])
	}
	return Empirical(name, values, weights)
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
