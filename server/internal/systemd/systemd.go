// Package systemd hands listening sockets over to the next process of a service, so that a restart refuses no connection:
// systemd keeps the sockets (FileDescriptorStoreMax= of the unit) and passes them to the next process, and meanwhile
// connections wait in the kernel. Sockets of a socket unit are used as well. The protocols are those of sd_listen_fds(3)
// and sd_pid_notify_with_fds(3). A library for them would be larger than this, and none stores sockets.
//
// Without systemd, the package only listens.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A process that systemd starts just when it closes a socket has a copy until it executes its program.
const (
	maxTries      = 50
	retryInterval = 20 * time.Millisecond
)

// Sockets has the sockets of a process. A nil *Sockets only listens. Its methods may be called concurrently.
type Sockets struct {
	manager string // path of the socket for notifications; "" if there is none
	passed  bool   // whether this process was given sockets

	mu     sync.Mutex
	unused []socket
}

// socket is a socket that the process was given.
type socket struct {
	net.Listener

	name string
}

// Kept reports whether the sockets stay open when this process ends.
func (s *Sockets) Kept() bool { return s != nil && (s.passed || s.manager != "") }

// Listen returns the socket for a TCP address that the process was given, or opens one and lets systemd keep it.
func (s *Sockets) Listen(ctx context.Context, addr string) (net.Listener, error) {
	if s == nil {
		return new(net.ListenConfig).Listen(ctx, "tcp", addr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tries := 0
	if wanted, err := net.ResolveTCPAddr("tcp", addr); err == nil {
		for i, given := range s.unused {
			if isAt(given, wanted) {
				s.unused = slices.Delete(s.unused, i, i+1)
				return given.Listener, nil
			}
		}
		if s.drop(func(given socket) bool { return portOf(given) == wanted.Port }) { // otherwise the port would be in use
			tries = maxTries
		}
	}
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	for ; errors.Is(err, syscall.EADDRINUSE) && tries > 0; tries-- {
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
		opened, err = new(net.ListenConfig).Listen(ctx, "tcp", addr)
	}
	if err == nil {
		err = s.store(opened)
	}
	return opened, err
}

// Ready tells systemd that the process serves. Sockets that were not used, for example after a change of the settings, are
// closed. A socket unit keeps its own nevertheless: Ready returns their addresses, at which nobody responds.
func (s *Sockets) Ready() (unserved []net.Addr) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, given := range s.unused {
		if given.name != storedName(given) {
			unserved = append(unserved, given.Addr())
		}
	}
	s.drop(func(socket) bool { return true })
	_ = s.notify("READY=1") // there is no one to tell
	return unserved
}

// Stopping tells systemd that the process ends.
func (s *Sockets) Stopping() {
	if s != nil {
		_ = s.notify("STOPPING=1")
	}
}

// drop closes unused sockets, here and in systemd. It reports whether there were any. s.mu must be held.
func (s *Sockets) drop(unwanted func(socket) bool) (dropped bool) {
	s.unused = slices.DeleteFunc(s.unused, func(given socket) bool {
		if !unwanted(given) {
			return false
		}
		_ = given.Close()
		_ = s.notify(fmt.Sprintf("FDSTOREREMOVE=1\nFDNAME=%s", given.name))
		dropped = true
		return true
	})
	if dropped {
		s.await()
	}
	return dropped
}

// storedName returns the name under which systemd keeps a socket.
func storedName(l net.Listener) string { return fmt.Sprintf("studiod-%d", portOf(l)) }

func portOf(l net.Listener) int {
	if address, ok := l.Addr().(*net.TCPAddr); ok {
		return address.Port
	}
	return 0
}

// isAt reports whether a socket is the one that listening at an address would open.
func isAt(l net.Listener, wanted *net.TCPAddr) bool {
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok || address.Port != wanted.Port {
		return false
	}
	everywhere := wanted.IP == nil || wanted.IP.IsUnspecified()
	return everywhere && address.IP.IsUnspecified() || address.IP.Equal(wanted.IP)
}
