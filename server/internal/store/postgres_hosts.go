package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// connectTimeout bounds opening a connection, for all hosts together.
	connectTimeout = 3 * time.Second
	// hostHeadStart is how long the last host is tried alone.
	hostHeadStart = 250 * time.Millisecond
)

// hosts are the hosts of a DSN. pgx would try them one after the other, and a host that hangs would use the time of
// all. It is safe for concurrent use.
type hosts struct {
	all  []*pgx.ConnConfig // each with one host
	last atomic.Int32      // the index of the host of the last connection
}

// newHosts splits the configuration of several hosts. If there are several, it accepts only those that can write, so
// that it finds the primary.
func newHosts(config *pgx.ConnConfig) *hosts {
	h := new(hosts)
	targets := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for i, target := range targets {
		if i > 0 && target.Host == targets[i-1].Host && target.Port == targets[i-1].Port { // without TLS
			host := h.all[len(h.all)-1]
			host.Fallbacks = append(host.Fallbacks, target)
			continue
		}
		host := config.Copy()
		host.Host, host.Port, host.TLSConfig, host.Fallbacks = target.Host, target.Port, target.TLSConfig, nil
		h.all = append(h.all, host)
	}
	for _, host := range h.all {
		if len(h.all) > 1 && host.ValidateConnect == nil {
			host.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
		}
	}
	return h
}

// connect tries all hosts side by side and returns the first connection. The host of the last connection has a head
// start, so that a process stays with it.
func (h *hosts) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.all[0].ConnectTimeout, errTimeout)
	defer cancel()
	type result struct {
		host       int
		connection *pgx.Conn
		err        error
	}
	results := make(chan result)
	try := func(host int) {
		connection, err := pgx.ConnectConfig(ctx, h.all[host])
		select {
		case results <- result{host, connection, err}:
		case <-ctx.Done():
			if err == nil {
				_ = connection.Close(context.WithoutCancel(ctx))
			}
		}
	}
	last := int(h.last.Load())
	go try(last)
	headStart := time.NewTimer(hostHeadStart)
	defer headStart.Stop()
	tryOthers := sync.OnceFunc(func() {
		for i := range h.all {
			if i != last {
				go try(i)
			}
		}
	})
	var errs []error
	for len(errs) < len(h.all) {
		select {
		case <-ctx.Done():
			return nil, errors.Join(append(errs, context.Cause(ctx))...)
		case <-headStart.C:
			tryOthers()
		case r := <-results:
			if r.err == nil {
				h.last.Store(int32(r.host)) //nolint:gosec // a small number
				return r.connection, nil
			}
			errs = append(errs, r.err)
			tryOthers()
		}
	}
	return nil, errors.Join(errs...)
}

// choose sets the host of a new connection of the pool to the one that connect finds.
func (h *hosts) choose(ctx context.Context, config *pgx.ConnConfig) error {
	if len(h.all) == 1 {
		return nil
	}
	connection, err := h.connect(ctx)
	if err != nil {
		return err
	}
	found := connection.Config()
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = found.Host, found.Port, found.TLSConfig, found.Fallbacks
	config.ValidateConnect = found.ValidateConnect
	return connection.Close(ctx)
}
