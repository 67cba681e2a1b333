package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Milliseconds formats a duration.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// Mebibytes formats a number of bytes.
func Mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// Thousands formats a number below a million with a comma.
func Thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// Percentile returns the smallest value that at least the given percentage of the values do not exceed. It returns 0 if
// there are no values.
func Percentile[T cmp.Ordered](values []T, percent float64) (value T) {
	if len(values) == 0 {
		return value
	}
	values = slices.Sorted(slices.Values(values))
	return values[int(math.Ceil(float64(len(values))*percent/100))-1]
}
