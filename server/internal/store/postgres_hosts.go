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
	// hostHeadStart is how long the last host, and the first address of a host, is tried alone.
	hostHeadStart = 250 * time.Millisecond
)

// hosts are the hosts of a DSN. pgx would try them and their addresses one after the other, and one that hangs would
// use the time of all. It is safe for concurrent use.
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
	connection, host, err := connectFirst(ctx, len(h.all), int(h.last.Load()), func(ctx context.Context, i int) (*pgx.Conn, error) {
		all, err := addresses(ctx, h.all[i])
		if err != nil {
			return nil, err
		}
		connection, _, err := connectFirst(ctx, len(all), 0, func(ctx context.Context, i int) (*pgx.Conn, error) {
			return pgx.ConnectConfig(ctx, all[i])
		})
		return connection, err
	})
	if err == nil {
		h.last.Store(int32(host)) //nolint:gosec // a small number
	}
	return connection, err
}

// addresses returns a configuration for each address of a host.
func addresses(ctx context.Context, host *pgx.ConnConfig) (all []*pgx.ConnConfig, err error) {
	if network, _ := pgconn.NetworkAddress(host.Host, host.Port); network == "unix" {
		return []*pgx.ConnConfig{host}, nil
	}
	found, err := host.LookupFunc(ctx, host.Host)
	for _, address := range found {
		one := host.Copy()
		one.LookupFunc = func(context.Context, string) ([]string, error) { return []string{address}, nil }
		all = append(all, one)
	}
	return all, err
}

// connectFirst makes n attempts side by side and returns the first connection and its index. The attempt with the index
// preferred has a head start.
func connectFirst(
	ctx context.Context, n, preferred int, attempt func(ctx context.Context, i int) (*pgx.Conn, error),
) (*pgx.Conn, int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		i          int
		connection *pgx.Conn
		err        error
	}
	results, others := make(chan result), make(chan struct{})
	startOthers := sync.OnceFunc(func() { close(others) })
	defer time.AfterFunc(hostHeadStart, startOthers).Stop()
	for i := range n {
		go func() {
			if i != preferred {
				select {
				case <-others:
				case <-ctx.Done():
					return
				}
			}
			connection, err := attempt(ctx, i)
			select {
			case results <- result{i, connection, err}:
			case <-ctx.Done():
				if err == nil {
					_ = connection.Close(context.WithoutCancel(ctx))
				}
			}
		}()
	}
	var errs []error
	for range n {
		select {
		case <-ctx.Done():
			return nil, 0, errors.Join(append(errs, context.Cause(ctx))...)
		case r := <-results:
			if r.err == nil {
				return r.connection, r.i, nil
			}
			errs = append(errs, r.err)
			startOthers()
		}
	}
	return nil, 0, errors.Join(errs...)
}

// choose sets the host of a new connection of the pool to the one that connect finds.
func (h *hosts) choose(ctx context.Context, config *pgx.ConnConfig) error {
	if len(h.all) == 1 {
		if all, err := addresses(ctx, h.all[0]); err != nil || len(all) == 1 {
			return err
		}
	}
	connection, err := h.connect(ctx)
	if err != nil {
		return err
	}
	found := connection.Config()
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = found.Host, found.Port, found.TLSConfig, found.Fallbacks
	config.ValidateConnect, config.LookupFunc = found.ValidateConnect, found.LookupFunc
	return connection.Close(ctx)
}
