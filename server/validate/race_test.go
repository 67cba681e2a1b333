//go:build race

package validate_test

func init() { raceEnabled = true } //nolint:gochecknoinits // set by the build tag alone
