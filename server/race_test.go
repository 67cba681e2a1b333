//go:build race

package server_test

func init() { raceEnabled = true } //nolint:gochecknoinits // set by the build tag alone
