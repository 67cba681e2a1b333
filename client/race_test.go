//go:build race

package client_test

func init() { raceEnabled = true } //nolint:gochecknoinits // controlled by the build tag
