//go:build !linux

package systemd

import "net"

// Inherit returns nil, because there is no systemd.
func Inherit() *Sockets { return nil }

func (s *Sockets) store(net.Listener) error { return nil }
func (s *Sockets) notify(string) error      { return nil }
func (s *Sockets) await()                   {}
