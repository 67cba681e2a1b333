//go:build race

package main

func init() { raceEnabled = true } //nolint:gochecknoinits // set by the build tag alone
