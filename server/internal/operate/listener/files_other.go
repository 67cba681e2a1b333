//go:build !unix

package listener

// maxOpenFiles returns 0, because there is no limit.
func maxOpenFiles() int { return 0 }
