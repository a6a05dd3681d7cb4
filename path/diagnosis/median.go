package diagnosis

import "reflect"

// Median is the evidence of several like transfers as one: each figure is the median of those that
// are known, if at least half of them are.
func Median(all []Evidence) Evidence {
	if len(all) == 0 {
		return Evidence{}
	}
	e := Evidence{Side: all[0].Side, Upload: all[0].Upload}
	to := reflect.ValueOf(&e).Elem()
	for i := range to.NumField() {
		if to.Type().Field(i).Type != reflect.TypeFor[Value]() {
			continue
		}
		var known []float64
		for k := range all {
			if v := reflect.ValueOf(&all[k]).Elem().Field(i).Interface().(Value); v.known {
				known = append(known, v.x)
			}
		}
		if 2*len(known) >= len(all) {
			to.Field(i).Set(reflect.ValueOf(median(known)))
		}
	}
	return e
}

// Shares divides the time of the exchange among causes, the largest share first, as Diagnose does before it names one.
func Shares(e Evidence) []Part {
	var all []Part
	for _, p := range sorted(divide(&e)) {
		p.Sentence, p.Advice = explain(p.Cause, p.Share, &e)
		all = append(all, p.Part)
	}
	return all
}
