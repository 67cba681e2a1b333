//go:build race

package deliver_test

func init() { loadDivisor = 20 } //nolint:gochecknoinits // set by the build tag alone
