package bench_test

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// readBenchmark returns the results of a benchmark of package client: the values of its sub-benchmarks by unit.
func readBenchmark(t *testing.T, name string, rounds int) map[string]map[string]float64 {
	t.Helper()
	benchmark := exec.CommandContext(t.Context(), "go", "test", "-run=^$", "-bench=^"+name+"$", "-benchtime="+strconv.Itoa(rounds)+"x", "./client")
	benchmark.Dir = "../.."
	output, err := benchmark.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	results := make(map[string]map[string]float64)
	for _, line := range regexp.MustCompile(`(?m)^`+name+`/(\S+?)(?:-\d+)?\s+\d+\s(.*)$`).FindAllStringSubmatch(string(output), -1) {
		values := make(map[string]float64)
		for fields := strings.Fields(line[2]); len(fields) > 1; fields = fields[2:] {
			values[fields[1]], err = strconv.ParseFloat(fields[0], 64)
			harness.Check(t, err)
		}
		results[line[1]] = values
	}
	if len(results) != 2 {
		t.Errorf("the results are %v\n%s", results, output)
	}
	return results
}

// callTable compares a call of package client with the same call without it.
func (r *results) callTable() string {
	var b strings.Builder
	b.WriteString("| Call | CPU time × bare | × safe | allocations | of bare | of safe |\n|---|--:|--:|--:|--:|--:|\n")
	for _, name := range slices.Sorted(maps.Keys(r.calls)) {
		call := r.calls[name]
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.0f | %.0f | %.0f |\n", name, call["x-bare"], call["x-safe"], call["allocs/call"],
			call["bare-allocs/call"], call["safe-allocs/call"])
	}
	return b.String()
}
