package faultserver

import (
	"context"
	"net"
	"sync"
)

// Pipe is an in-memory listener for [NewAt]. With a Pipe, a server and its clients can run in a
// bubble of testing/synctest, on its synthetic clock. The connections are those of [net.Pipe], which are
// unbuffered and cannot be reset.
type Pipe struct {
	dialed chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// NewPipe returns a listener.
func NewPipe() *Pipe {
	return &Pipe{dialed: make(chan net.Conn), closed: make(chan struct{})}
}

// DialContext connects to the listener, whatever the address. It can be used as the DialContext of an
// [net/http.Transport].
func (p *Pipe) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialed <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialed:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close unblocks Accept and DialContext. Connections stay open.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns 127.0.0.1:80, which is not a port of this machine.
func (p *Pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
