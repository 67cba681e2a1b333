// Package systemd takes over the listening sockets of a socket unit, so that a restart refuses no connection: systemd
// opens them, and while no process serves, connections wait in the kernel. The protocols are those of sd_listen_fds(3)
// and sd_notify(3).
//
// Without systemd, the package only listens.
package systemd

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
)

const firstSocket = 3 // SD_LISTEN_FDS_START

// Sockets has the sockets of a process. A nil *Sockets only listens. Its methods may be called concurrently.
type Sockets struct {
	manager string // path of the socket for notifications; "" if there is none
	passed  bool   // whether this process was given sockets

	mu     sync.Mutex
	unused []net.Listener
}

// Inherit returns the sockets that systemd gave to this process. It removes the environment variables that describe
// them, which are not for other programs.
func Inherit() *Sockets {
	s := &Sockets{manager: os.Getenv("NOTIFY_SOCKET")}
	if os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		count, _ := strconv.Atoi(os.Getenv("LISTEN_FDS"))
		for i := range count {
			file := os.NewFile(uintptr(firstSocket+i), "socket")
			if l, err := net.FileListener(file); err == nil { // otherwise not a socket that listens
				s.unused, s.passed = append(s.unused, l), true
			}
			_ = file.Close() // the listener has a copy
		}
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"} {
		_ = os.Unsetenv(name) // fails only for invalid names
	}
	return s
}

// Kept reports whether the sockets stay open when this process ends.
func (s *Sockets) Kept() bool { return s != nil && s.passed }

// Addr returns the address of the first TCP socket that the process was given, or "".
func (s *Sockets) Addr() string {
	if s != nil {
		if i := slices.IndexFunc(s.unused, func(l net.Listener) bool { return l.Addr().Network() == "tcp" }); i >= 0 {
			return s.unused[i].Addr().String()
		}
	}
	return ""
}

// Listen returns the socket for a TCP address that the process was given, or opens one.
func (s *Sockets) Listen(ctx context.Context, addr string) (net.Listener, error) {
	if wanted, err := net.ResolveTCPAddr("tcp", addr); err == nil && s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, given := range s.unused {
			at, isTCP := given.Addr().(*net.TCPAddr)
			if !isTCP || at.Port != wanted.Port {
				continue
			}
			everywhere := wanted.IP == nil || wanted.IP.IsUnspecified()
			if at.IP.Equal(wanted.IP) || everywhere && at.IP.IsUnspecified() {
				s.unused = slices.Delete(s.unused, i, i+1)
				return given, nil
			}
			err = fmt.Errorf("the socket unit of systemd listens at %v and not at %s; set ListenStream of the unit", at, addr)
		}
		if err != nil {
			return nil, err
		}
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// Ready tells systemd that the process serves. It returns the addresses of the sockets that were not used, at which
// nobody responds.
func (s *Sockets) Ready() (unserved []net.Addr) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, given := range s.unused {
		unserved = append(unserved, given.Addr())
		_ = given.Close() // systemd has a copy
	}
	s.unused = nil
	s.notify("READY=1")
	return unserved
}

// Stopping tells systemd that the process ends.
func (s *Sockets) Stopping() {
	if s != nil {
		s.notify("STOPPING=1")
	}
}

// notify sends a notification. If that fails, systemd waits, and logs a timeout.
func (s *Sockets) notify(state string) {
	if s.manager == "" {
		return
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.manager, Net: "unixgram"})
	if err == nil {
		_, _ = connection.Write([]byte(state))
		_ = connection.Close()
	}
}
