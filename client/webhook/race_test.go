//go:build race

package webhook_test

func init() { raceEnabled = true } //nolint:gochecknoinits // controlled by the build tag
