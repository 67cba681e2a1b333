package store

import (
	"context"
	"crypto/md5" //nolint:gosec // a hash for sharding, not for security
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// Lanes is the number of lanes, the shards of all origins.
	Lanes = 256
	// Lease is how long a process keeps its lanes after its last renewal.
	Lease = 4 * time.Second
	// dueChannel, useChannel and renderChannel are the channels of NOTIFY. The name of the schema follows.
	dueChannel    = "studio_due_"
	useChannel    = "studio_use_"
	renderChannel = "studio_render_"
	// deletedPrefix begins the payload of a notification of deleted subjects.
	deletedPrefix = "-"
	// laneOfSubject is the SQL expression for [Lane].
	laneOfSubject = `get_byte(decode(md5(origin), 'hex'), 0)`
)

var (
	// ErrLeaseLost means that a lease holder did not renew its lease for [Lease] and another process deleted it.
	ErrLeaseLost = errors.New("another process has taken over")
	// ErrClockSetBack means that the clock of the database was set back; see [Store.HandleClockSetBack].
	ErrClockSetBack = errors.New("the clock of the database was set back")
)

// clockSetBackQuery returns by how many microseconds, at least, the clock was set back since the last renewal
// of a lease. It returns no row if the clock was set back by less than a second.
const clockSetBackQuery = `SELECT (extract(epoch FROM max(seen_at) - clock_timestamp()) * 1000000)::bigint FROM holders
	HAVING max(seen_at) > clock_timestamp() + INTERVAL '1 second'`

// Lane returns the lane of an origin, from 0 to [Lanes] - 1.
func Lane(origin string) int {
	sum := md5.Sum([]byte(origin)) //nolint:gosec // see the import
	return int(sum[0])
}

// LeaseHolder holds the lease of one process on its lanes, on PostgreSQL. It uses a connection of its own, so
// that a busy pool does not delay a renewal. It is not safe for concurrent use.
type LeaseHolder struct {
	ID         string
	store      *Store
	connection *pgx.Conn
}

// NewLeaseHolder returns a lease holder without lanes. The store must be on PostgreSQL.
func (s *Store) NewLeaseHolder() *LeaseHolder { return &LeaseHolder{ID: uuid.NewString(), store: s} }

// Holding is the result of a renewal.
type Holding struct {
	Lanes     []int
	FairShare int       // lanes of each holder if all have an equal share, rounded up
	Expired   int       // holders that this renewal deleted because their lease had expired
	Now       time.Time // by the clock of the database
}

// Renew renews the lease. It deletes holders whose lease has expired and takes free lanes, up to a fair share.
// The first call must set insert, which adds the holder. Renew returns ErrLeaseLost if another process deleted
// the holder; the caller must then use a new one. It returns ErrClockSetBack and renews nothing if the clock
// was set back, until [Store.HandleClockSetBack] is called.
func (h *LeaseHolder) Renew(ctx context.Context, insert bool) (holding Holding, err error) {
	connection, err := h.connect(ctx)
	if err != nil {
		return holding, err
	}
	batch := new(pgx.Batch)
	renewed, now := false, int64(0)
	renew := `UPDATE holders SET seen_at = clock_timestamp() WHERE id = $1 AND NOT EXISTS (` + clockSetBackQuery + `)`
	if insert {
		renew = `INSERT INTO holders (id, seen_at) SELECT $1, clock_timestamp() WHERE NOT EXISTS (` + clockSetBackQuery + `)`
	}
	clockSetBack := false
	batch.Queue(clockSetBackQuery).Query(func(rows pgx.Rows) error {
		clockSetBack = rows.Next()
		rows.Close()
		return rows.Err()
	})
	batch.Queue(renew+` RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, h.ID).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			renewed = true
			if err := rows.Scan(&now); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	// SKIP LOCKED leaves a holder whose record is being written to the next renewal.
	batch.Queue(`DELETE FROM holders WHERE id IN (SELECT id FROM holders
		WHERE seen_at < clock_timestamp() - make_interval(secs => $1) FOR UPDATE SKIP LOCKED)`, Lease.Seconds()).
		Query(func(rows pgx.Rows) error {
			rows.Close()
			holding.Expired = int(rows.CommandTag().RowsAffected())
			return rows.Err()
		})
	batch.Queue(`UPDATE lanes SET holder = $1 WHERE EXISTS (SELECT FROM holders WHERE id = $1) AND lane IN
		(SELECT lane FROM lanes WHERE holder IS NULL ORDER BY lane LIMIT GREATEST(0,
			((SELECT count(*) FROM lanes) + (SELECT count(*) FROM holders) - 1) / GREATEST(1, (SELECT count(*) FROM holders))
			- (SELECT count(*) FROM lanes WHERE holder = $1)) FOR NO KEY UPDATE SKIP LOCKED)`, h.ID)
	batch.Queue(`SELECT lane, (SELECT (256 + count(*) - 1) / GREATEST(1, count(*)) FROM holders) FROM lanes WHERE holder = $1`, h.ID).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var lane int
				if err := rows.Scan(&lane, &holding.FairShare); err != nil {
					return err
				}
				holding.Lanes = append(holding.Lanes, lane)
			}
			return rows.Err()
		})
	if err := connection.SendBatch(ctx, batch).Close(); err != nil {
		return holding, err
	}
	switch {
	case clockSetBack:
		return holding, ErrClockSetBack
	case !renewed:
		return holding, ErrLeaseLost
	}
	holding.Now = time.UnixMicro(now)
	return holding, nil
}

// HandleClockSetBack moves all due times back after the clock of the database was set back, so that no retry
// is late. It deletes all lease holders, because their records would use the old time. The first process that
// calls it does this for all processes; it returns 0 to the others. The store must be on PostgreSQL; see
// [Store.ShiftDue] for SQLite.
func (s *Store) HandleClockSetBack(ctx context.Context) (by time.Duration, err error) {
	err = s.write(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, `LOCK TABLE holders IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var micros int64
		err := queryRow(ctx, tx, []any{&micros}, clockSetBackQuery)
		if by = time.Duration(micros) * time.Microsecond; by == 0 {
			if errors.Is(err, studio.ErrNotFound) {
				err = nil
			}
			return err
		}
		_, err = tx.exec(ctx, `WITH gone AS (DELETE FROM holders RETURNING id)
			SELECT pg_notify($1 || current_schema(), '') FROM gone LIMIT 1`, dueChannel)
		if err == nil {
			err = shiftDue(ctx, tx, -by)
		}
		return err
	})
	return by, err
}

// Release releases lanes and notifies the other processes, which take them. The caller must have ended all
// attempts for origins in the lanes.
func (h *LeaseHolder) Release(ctx context.Context, lanes []int) error {
	connection, err := h.connect(ctx)
	if err == nil {
		_, err = connection.Exec(ctx, `WITH released AS (UPDATE lanes SET holder = NULL WHERE holder = $1 AND lane = ANY($2) RETURNING lane)
			SELECT pg_notify($3 || current_schema(), '') FROM released LIMIT 1`, h.ID, lanes, dueChannel)
	}
	return err
}

// ReleaseAll releases all lanes, deletes the holder and closes its connection. The caller must have ended all
// attempts.
func (h *LeaseHolder) ReleaseAll(ctx context.Context) error {
	connection, err := h.connect(ctx)
	if err == nil {
		_, err = connection.Exec(ctx, `WITH gone AS (DELETE FROM holders WHERE id = $1 RETURNING id)
			SELECT pg_notify($2 || current_schema(), '') FROM gone`, h.ID, dueChannel)
	}
	return errors.Join(err, h.Close(ctx))
}

// Close closes the connection. The lease remains until it expires.
func (h *LeaseHolder) Close(ctx context.Context) error {
	if h.connection == nil {
		return nil
	}
	return h.connection.Close(ctx)
}

// connect returns the connection of the holder, and opens it if needed.
func (h *LeaseHolder) connect(ctx context.Context) (_ *pgx.Conn, err error) {
	if h.connection == nil || h.connection.IsClosed() {
		h.connection, err = pgx.ConnectConfig(ctx, h.store.pool().Config().ConnConfig)
	}
	return h.connection, err
}

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
func (s *Store) Listen(ctx context.Context, handler NotificationHandler) (err error) {
	connection, err := pgx.ConnectConfig(ctx, s.pool().Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	var schema string
	if err := connection.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return err
	}
	channels := []string{useChannel, renderChannel}
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
		notification, err := connection.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		switch notification.Channel {
		case useChannel + schema:
			if s.onUse != nil {
				s.onUse(notification.Payload)
			}
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
// that makes them due, because commits with NOTIFY wait for each other. The store must be on PostgreSQL.
func (s *Store) NotifyDue(ctx context.Context, flows []Flow) error { return s.notify(ctx, "", flows) }

// NotifyDeleted notifies the other processes that subjects with events in flows were deleted. The store must be
// on PostgreSQL.
func (s *Store) NotifyDeleted(ctx context.Context, flows []Flow) error {
	return s.notify(ctx, deletedPrefix, flows)
}

// NotifyRenderDue notifies the other processes that renderings are due for which the process with the ID by
// has no free worker.
func (s *Store) NotifyRenderDue(ctx context.Context, by string) error {
	_, err := s.pool().Exec(ctx, `SELECT pg_notify($1 || current_schema(), $2)`, renderChannel, by)
	return err
}

// NotifyUse sends a message of up to 7,999 bytes to every process that listens; see [Config.OnUse]. The store
// must be on PostgreSQL.
func (s *Store) NotifyUse(ctx context.Context, message string) error {
	_, err := s.pool().Exec(ctx, `SELECT pg_notify($1 || current_schema(), $2)`, useChannel, message)
	return err
}

// notify sends one notification for each flow. Its payload is prefix, user ID, space, origin.
func (s *Store) notify(ctx context.Context, prefix string, flows []Flow) error {
	payloads := make([]string, len(flows))
	for i, flow := range flows {
		payloads[i] = prefix + flow.UserID + " " + flow.Origin
	}
	_, err := s.pool().Exec(ctx, `SELECT pg_notify($1 || current_schema(), payload) FROM unnest($2::text[]) payload`, dueChannel, payloads)
	return err
}

// parseFlow parses a payload of notify without its prefix.
func parseFlow(payload string) (flow Flow, ok bool) {
	flow.UserID, flow.Origin, ok = strings.Cut(payload, " ")
	return flow, ok
}
