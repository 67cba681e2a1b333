//go:build !linux

package httpserver

import "net"

// limitUnsent does nothing. The kernel has a limit of its own.
func limitUnsent(net.Conn) {}
