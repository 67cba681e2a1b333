package faultserver

import (
	"context"
	"net"
	"sync"
)

// Pipe is a listener in memory, for [Config.Listener]: with it a server and its clients
// live on the clock of testing/synctest, where an hour passes at once. Its connections are
// those of [net.Pipe], which hold no bytes between writer and reader and cannot be reset.
type Pipe struct {
	dialled chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// NewPipe returns a listener that nobody has dialled.
func NewPipe() *Pipe {
	return &Pipe{dialled: make(chan net.Conn), closed: make(chan struct{})}
}

// DialContext connects to the listener, whatever the address. It fits
// [net/http.Transport].
func (p *Pipe) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialled <- theirs:
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
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and DialContext. Connections stay open.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns 127.0.0.1:80, which stands for no port of this machine.
func (p *Pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
