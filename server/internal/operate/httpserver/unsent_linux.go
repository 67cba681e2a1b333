package httpserver

import (
	"net"

	"golang.org/x/sys/unix"
)

const maxUnsent = 64 << 10

// limitUnsent limits the memory of the kernel for data that the client does not accept. Without it, that is several
// MiB. Data in transit is not limited, so a connection stays as fast.
func limitUnsent(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			// Errors are ignored, because a connection works without the option.
			_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent) })
		}
	}
}
