//go:build !unix

package regularfile

// Share does nothing, because files inherit the access to their directory.
func Share(string, string) {}
