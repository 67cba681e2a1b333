//go:build race

package soak_test

func init() { fewer = 20 } //nolint:gochecknoinits // set by the build tag alone
