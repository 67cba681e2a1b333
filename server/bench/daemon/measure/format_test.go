package measure_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

func TestPercentile_isNearestRank(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	for percent, want := range map[float64]float64{50: 3, 99: 5, 20: 1, 21: 2} {
		if got := measure.Percentile(values, percent); got != want {
			t.Errorf("percentile %v is %v, want %v", percent, got, want)
		}
	}
}
