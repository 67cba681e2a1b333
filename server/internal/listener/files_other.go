//go:build !unix

package listener

// maxOpenFiles is 0 where there is no limit.
func maxOpenFiles() int { return 0 }
