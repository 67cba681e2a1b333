//go:build race

package client_test

func init() { raceEnabled = true } //nolint:gochecknoinits // set by the build tag alone
