package main

import "slices"

func medianOf[T any](rounds []T, value func(T) float64) float64 {
	values := make([]float64, len(rounds))
	for i, round := range rounds {
		values[i] = value(round)
	}
	return median(values)
}

// medianOfRatios returns the median of the ratios within each round. Within a round, the load of the
// machine is about the same for both.
func medianOfRatios[T any](rounds, others []T, value func(T) float64) float64 {
	return median(ratios(rounds, others, value))
}

func ratios[T any](rounds, others []T, value func(T) float64) []float64 {
	values := make([]float64, len(rounds))
	for i := range rounds {
		values[i] = value(rounds[i]) / value(others[i])
	}
	return values
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}
