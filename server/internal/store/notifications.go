package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// notifyChannel is the channel of NOTIFY. The name of the schema follows. A payload is the kind of a signal, the ID
	// of the process that sends it, and a key, separated by spaces.
	notifyChannel = "studio_"
	// The connection that listens checks the server every heartbeatInterval. If the server does not respond within
	// heartbeatTimeout, it hangs or the connection is dead.
	heartbeatInterval = 500 * time.Millisecond
	heartbeatTimeout  = 2 * time.Second
)

// Listen calls handle for each notification until ctx or the connection ends, but not for those of this process about
// renderings, and ready once the process listens: earlier notifications may be lost. The flow is zero unless the kind
// is SignalDue or SignalDeleted. Listen always returns an error. The calls are made one after the other in the
// goroutine of the caller. On SQLite there are no notifications.
//
// Listen also detects that the server hangs or that its connections have died silently. It then closes all connections
// of the store, whose statements fail at once.
func (s *Store) Listen(ctx context.Context, ready func(), handle func(kind SignalKind, flow Flow)) (err error) {
	if !s.Shared() {
		<-ctx.Done()
		return ctx.Err()
	}
	connection, err := s.postgres.hosts.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	var channel string
	if err := connection.QueryRow(ctx, `SELECT $1 || current_schema()`, notifyChannel).Scan(&channel); err != nil {
		return err
	}
	if _, err := connection.Exec(ctx, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	ready()
	for {
		if err := s.handleNotifications(ctx, connection, handle); err != nil {
			return err
		}
		timeoutContext, cancel := context.WithTimeoutCause(ctx, heartbeatTimeout, errTimeout)
		err := connection.Ping(timeoutContext)
		if err != nil && errors.Is(context.Cause(timeoutContext), errTimeout) {
			s.postgres.disconnect()
			err = errTimeout
		}
		cancel()
		if err != nil {
			return err
		}
	}
}

// handleNotifications handles the notifications of one heartbeatInterval.
func (s *Store) handleNotifications(ctx context.Context, connection *pgx.Conn, handle func(kind SignalKind, flow Flow)) error {
	intervalContext, cancel := context.WithTimeout(ctx, heartbeatInterval)
	defer cancel()
	for {
		notification, err := connection.WaitForNotification(intervalContext)
		switch {
		case err != nil && intervalContext.Err() != nil && !connection.IsClosed():
			return ctx.Err()
		case err != nil:
			return err
		}
		kind, rest, _ := strings.Cut(notification.Payload, " ")
		if by, key, _ := strings.Cut(rest, " "); by != s.processID || SignalKind(kind) != SignalRender {
			handle(SignalKind(kind), flowOf(key))
		}
	}
}

// Notify notifies the other processes of flows, or of renderings that are due, with SignalRender and a zero Flow. It
// runs after the transaction that makes them due, because commits with NOTIFY wait for each other. On SQLite it does
// nothing.
func (s *Store) Notify(ctx context.Context, kind SignalKind, flows ...Flow) error {
	return s.notify(ctx, kind, keysOf(flows)...)
}

// notify sends a notification for each key.
func (s *Store) notify(ctx context.Context, kind SignalKind, keys ...string) error {
	if !s.Shared() || len(keys) == 0 {
		return nil
	}
	return s.engine.query(ctx, func(func(...any) error) error { return nil },
		`SELECT pg_notify($1 || current_schema(), $2 || key) FROM unnest($3::text[]) key`, notifyChannel, string(kind)+" "+s.processID+" ", keys)
}
