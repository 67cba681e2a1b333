package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// These are the channels of NOTIFY. The name of the schema follows.
	dueChannel    = "studio_due_"
	eventChannel  = "studio_events_"
	renderChannel = "studio_render_"
	// deletedPrefix begins the payload of a notification of deleted subjects.
	deletedPrefix = "-"
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
	RenderDue func(by string) // renderings are due that the process with the ID by has no worker for
}

// Listen calls handler for each notification until ctx or the connection ends. It always returns an error. The
// handlers run one after the other in the goroutine of the caller. The store must be on PostgreSQL.
//
// Listen also detects that the server hangs or that its connections have died silently. It then closes all connections
// of the store, whose statements fail at once.
func (s *Store) Listen(ctx context.Context, handler NotificationHandler) (err error) {
	connection, err := s.postgres.hosts.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	var schema string
	if err := connection.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return err
	}
	channels := []string{eventChannel, renderChannel}
	if handler.Due != nil {
		channels = append(channels, dueChannel)
	}
	for _, channel := range channels {
		if _, err := connection.Exec(ctx, `LISTEN `+pgx.Identifier{channel + schema}.Sanitize()); err != nil {
			return err
		}
	}
	handler.Ready()
	for {
		if err := s.handleNotifications(ctx, connection, schema, handler); err != nil {
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
func (s *Store) handleNotifications(ctx context.Context, connection *pgx.Conn, schema string, handler NotificationHandler) error {
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
		switch notification.Channel {
		case eventChannel + schema:
			s.events.receive(notification.Payload)
			continue
		case renderChannel + schema:
			handler.RenderDue(notification.Payload)
			continue
		}
		payload, deleted := strings.CutPrefix(notification.Payload, deletedPrefix)
		switch flow, ok := parseFlow(payload); {
		case !ok:
			handler.Released()
		case deleted:
			handler.Deleted(flow)
		default:
			handler.Due(flow)
		}
	}
}

// NotifyDue notifies the other processes that events of flows have become due. It runs after the transaction
// that makes them due, because commits with NOTIFY wait for each other. On SQLite it does nothing.
func (s *Store) NotifyDue(ctx context.Context, flows []Flow) error {
	return s.notifyFlows(ctx, "", flows)
}

// NotifyDeleted notifies the other processes that subjects with events in flows were deleted. On SQLite it does nothing.
func (s *Store) NotifyDeleted(ctx context.Context, flows []Flow) error {
	return s.notifyFlows(ctx, deletedPrefix, flows)
}

// NotifyRenderDue notifies the other processes that renderings are due for which the process with the ID by
// has no free worker.
func (s *Store) NotifyRenderDue(ctx context.Context, by string) error {
	return s.notify(ctx, renderChannel, by)
}

// notifyFlows sends one notification for each flow. Its payload is prefix, user ID, space, origin.
func (s *Store) notifyFlows(ctx context.Context, prefix string, flows []Flow) error {
	if !s.Shared() || len(flows) == 0 {
		return nil
	}
	payloads := make([]string, len(flows))
	for i, flow := range flows {
		payloads[i] = prefix + flow.UserID + " " + flow.Origin
	}
	return s.notify(ctx, dueChannel, payloads...)
}

func (s *Store) notify(ctx context.Context, channel string, payloads ...string) error {
	return s.engine.query(ctx, func(func(...any) error) error { return nil },
		`SELECT pg_notify($1 || current_schema(), payload) FROM unnest($2::text[]) payload`, channel, payloads)
}

// parseFlow parses a payload of notifyFlows without its prefix.
func parseFlow(payload string) (flow Flow, ok bool) {
	flow.UserID, flow.Origin, ok = strings.Cut(payload, " ")
	return flow, ok
}
