//go:build race

package soak_test

func init() { sqliteDivisor = 20 } //nolint:gochecknoinits // depends on the build tag
