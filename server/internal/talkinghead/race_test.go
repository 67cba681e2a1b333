//go:build race

package talkinghead_test

func init() { raceEnabled = true } //nolint:gochecknoinits // set by the build tag alone
