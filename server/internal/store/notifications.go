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

// NotificationHandler handles the notifications of other processes. A process that delivers no events leaves
// Due, Deleted and Released nil.
type NotificationHandler struct {
	Ready     func()          // called once the process listens; earlier notifications may be lost
	Due       func(flow Flow) // events of a flow have become due
	Deleted   func(flow Flow) // subjects with events in a flow were deleted
	Released  func()          // a lease holder has released lanes
	RenderDue func()          // renderings are due for which another process has no worker
}

// Listen calls handler for each notification until ctx or the connection ends. It always returns an error. The
// handlers run one after the other in the goroutine of the caller. On SQLite there are no notifications.
//
// Listen also detects that the server hangs or that its connections have died silently. It then closes all connections
// of the store, whose statements fail at once.
func (s *Store) Listen(ctx context.Context, handler NotificationHandler) (err error) {
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
	handler.Ready()
	for {
		if err := s.handleNotifications(ctx, connection, handler); err != nil {
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
func (s *Store) handleNotifications(ctx context.Context, connection *pgx.Conn, handler NotificationHandler) error {
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
		s.handle(notification.Payload, handler)
	}
}

// handle handles the payload of a notification.
func (s *Store) handle(payload string, handler NotificationHandler) {
	kind, rest, _ := strings.Cut(payload, " ")
	by, key, _ := strings.Cut(rest, " ")
	own, delivers := by == s.processID, handler.Due != nil
	switch kind := signalKind(kind); {
	case kind == signalRender && !own:
		handler.RenderDue()
	case kind == signalDue && delivers:
		handler.Due(flowOf(key))
	case kind == signalDeleted && delivers:
		handler.Deleted(flowOf(key))
	case kind == signalReleased && delivers:
		handler.Released()
	}
}

// NotifyDue notifies the other processes that events of flows have become due. It runs after the transaction
// that makes them due, because commits with NOTIFY wait for each other. On SQLite it does nothing.
func (s *Store) NotifyDue(ctx context.Context, flows []Flow) error {
	return s.notify(ctx, signalDue, keysOf(flows)...)
}

// NotifyDeleted notifies the other processes that subjects with events in flows were deleted. On SQLite it does
// nothing.
func (s *Store) NotifyDeleted(ctx context.Context, flows []Flow) error {
	return s.notify(ctx, signalDeleted, keysOf(flows)...)
}

// NotifyRenderDue notifies the other processes that renderings are due for which this one has no free worker. On SQLite
// it does nothing.
func (s *Store) NotifyRenderDue(ctx context.Context) error {
	return s.notify(ctx, signalRender, "")
}

// notify sends a notification for each key.
func (s *Store) notify(ctx context.Context, kind signalKind, keys ...string) error {
	if !s.Shared() || len(keys) == 0 {
		return nil
	}
	return s.engine.query(ctx, func(func(...any) error) error { return nil },
		`SELECT pg_notify($1 || current_schema(), $2 || key) FROM unnest($3::text[]) key`, notifyChannel, string(kind)+" "+s.processID+" ", keys)
}
