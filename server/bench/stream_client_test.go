package bench_test

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// readStreams returns the results of BenchmarkStream in package client by media type.
func readStreams(t *testing.T, rounds int) map[string]float64 {
	t.Helper()
	benchmark := exec.CommandContext(t.Context(), "go", "test", "-run=^$", "-bench=^BenchmarkStream$", "-benchtime="+strconv.Itoa(rounds)+"x", "./client")
	benchmark.Dir = "../.."
	output, err := benchmark.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	ratios := make(map[string]float64)
	for _, line := range regexp.MustCompile(`(?m)^BenchmarkStream/(\S+?)(?:-\d+)?\s.*?([\d.]+) x-scanner`).FindAllStringSubmatch(string(output), -1) {
		ratios[line[1]], err = strconv.ParseFloat(line[2], 64)
		harness.Check(t, err)
	}
	if len(ratios) != 2 {
		t.Errorf("the results are %v\n%s", ratios, output)
	}
	return ratios
}
