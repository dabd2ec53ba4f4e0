package main

import (
	"math"
	"strconv"
)

// A lower bound holds with the probability confidence. A test that is long enough finds a bug
// with the probability found.
const (
	confidence = 0.95
	found      = 0.999
)

// lowerBound is the exact one-sided bound of Clopper and Pearson: a test with a smaller rate
// catches the bug that often in less than 5 % of cases.
func lowerBound(caught, runs int) float64 {
	low, high := 0.0, 1.0
	if caught == 0 {
		return low
	}
	for range 60 {
		if rate := (low + high) / 2; atLeast(caught, runs, rate) < 1-confidence {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

// atLeast is the probability of k or more catches in n runs, each with the same rate between 0
// and 1.
func atLeast(k, n int, rate float64) (sum float64) {
	logFactorial := func(i int) float64 {
		log, _ := math.Lgamma(float64(i + 1))
		return log
	}
	for i := k; i <= n; i++ {
		ways := logFactorial(n) - logFactorial(i) - logFactorial(n-i)
		sum += math.Exp(ways + float64(i)*math.Log(rate) + float64(n-i)*math.Log1p(-rate))
	}
	return sum
}

// needed is how many repetitions find a bug of that rate almost surely.
func needed(rate float64) string {
	if rate == 0 {
		return "unknown"
	}
	return strconv.Itoa(int(math.Ceil(math.Log(1-found) / math.Log1p(-rate))))
}
