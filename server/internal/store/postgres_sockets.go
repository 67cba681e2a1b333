package store

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// answerTimeout bounds the wait for each answer of PostgreSQL. It exceeds lock_timeout.
	answerTimeout = 7 * time.Second
	// migrationTimeout is the answerTimeout of migrations, because building an index may take long.
	migrationTimeout = time.Hour
)

var errTimeout = errors.New("the database does not respond in time")

// sockets are the open connections to the server, at the level of the network. Every read and write of a socket has
// a deadline, so that no statement, connection attempt or cancel request waits forever, whatever the context of its
// caller. It is safe for concurrent use.
type sockets struct {
	dial pgconn.DialFunc

	mu      sync.Mutex
	timeout time.Duration // for each answer, of sockets that are opened from now on
	open    map[*socket]struct{}
}

func newSockets(dial pgconn.DialFunc, timeout time.Duration) *sockets {
	return &sockets{dial: dial, timeout: timeout, open: make(map[*socket]struct{})}
}

// connect opens a socket. It is a pgconn.DialFunc.
func (s *sockets) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	opened := &socket{Conn: conn, all: s, timeout: s.timeout}
	s.open[opened] = struct{}{}
	return opened, nil
}

// closeAll closes all sockets.
func (s *sockets) closeAll() {
	s.mu.Lock()
	open := s.open
	s.open = make(map[*socket]struct{})
	s.mu.Unlock()
	for socket := range open {
		socket.abandoned.Store(true)
		_ = socket.Conn.Close() // the server may not respond
	}
}

// socket is an open connection. Its deadlines are those of pgx, or the answer timeout if that is earlier.
type socket struct {
	net.Conn

	all       *sockets
	timeout   time.Duration
	abandoned atomic.Bool

	mu       sync.Mutex
	deadline time.Time // of pgx; zero for none
}

func (s *socket) Read(p []byte) (int, error) {
	return s.bounded(s.Conn.Read, p)
}

func (s *socket) Write(p []byte) (int, error) {
	return s.bounded(s.Conn.Write, p)
}

// bounded calls Read or Write with a deadline. It returns errTimeout, which makes pgx close the connection, if pgx has
// set no earlier one.
func (s *socket) bounded(call func([]byte) (int, error), p []byte) (int, error) {
	if err := s.setDeadline(func() {}); err != nil {
		return 0, err
	}
	n, err := call(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.deadline.IsZero() || s.deadline.After(time.Now()) {
			err = errTimeout
		}
	}
	return n, err
}

// SetDeadline sets the deadline of pgx.
func (s *socket) SetDeadline(t time.Time) error {
	return s.setDeadline(func() { s.deadline = t })
}

func (s *socket) setDeadline(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	earliest := time.Now().Add(s.timeout)
	if !s.deadline.IsZero() && s.deadline.Before(earliest) {
		earliest = s.deadline
	}
	return s.Conn.SetDeadline(earliest)
}

// RemoteAddr returns the address to which pgx sends a cancel request. After closeAll it is none, because the request
// would hang, too, and occupy a place in the pool.
func (s *socket) RemoteAddr() net.Addr {
	if s.abandoned.Load() {
		return &net.UnixAddr{Net: "nowhere"}
	}
	return s.Conn.RemoteAddr()
}

func (s *socket) Close() error {
	s.all.mu.Lock()
	delete(s.all.open, s)
	s.all.mu.Unlock()
	return s.Conn.Close()
}
