package clienttest

import (
	"context"
	"net"
	"sync"
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// memoryListener accepts in-memory connections.
type memoryListener struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

var _ net.Listener = (*memoryListener)(nil)

func newMemoryListener() *memoryListener {
	closed := make(chan struct{})
	return &memoryListener{
		connections: make(chan net.Conn),
		closed:      closed,
		close:       sync.OnceFunc(func() { close(closed) }),
	}
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.connections <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.close()
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

// memoryAddr is a loopback address, so that clients accept plain http.
type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "localhost" }
