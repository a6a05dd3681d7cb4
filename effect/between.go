package effect

// Between is the variance by which quantities differ beyond that of measuring them: mean[i] was measured with the known variance[i], more
// than 0. It is never less than 0, and 0 where there are fewer than two. (The estimator of moments of R. DerSimonian, N. Laird, "Meta-analysis
// in clinical trials", Controlled Clinical Trials 7 (1986) 177-188.)
func Between(mean, variance []float64) float64 {
	if len(mean) < 2 {
		return 0
	}
	var weight, squares, mid float64
	for i, v := range variance {
		weight, squares, mid = weight+1/v, squares+1/(v*v), mid+mean[i]/v
	}
	mid /= weight
	q := 0.0
	for i, v := range variance {
		q += (mean[i] - mid) * (mean[i] - mid) / v
	}
	return max(0, (q-float64(len(mean)-1))/(weight-squares/weight))
}
