//go:build race

package jobs_test

func init() { loadDivisor = 20 } //nolint:gochecknoinits // set by the build tag alone
