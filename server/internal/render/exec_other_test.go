//go:build !linux

package render_test

func deathSignal() int32 { return 0 }

func memoryLimit() uint64 { return 0 }
