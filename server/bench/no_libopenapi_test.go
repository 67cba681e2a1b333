//go:build !libopenapi

package bench_test

func libopenapiVariants() []variant { return nil }
