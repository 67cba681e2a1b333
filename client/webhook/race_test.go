//go:build race

package webhook_test

func init() { raceEnabled = true } //nolint:gochecknoinits // set by the build tag alone
