//go:build !unix

package httpserver

// maxOpenFiles returns 0, because there is no limit.
func maxOpenFiles() int { return 0 }
