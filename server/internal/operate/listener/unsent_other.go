//go:build !linux

package listener

import "net"

// limitUnsent does nothing. The kernel has a limit of its own.
func limitUnsent(net.Conn) {}
