package store

import (
	"context"
	"crypto/md5" //nolint:gosec // a share, no secret
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// Lanes is how many shares there are of all origins.
	Lanes = 256
	// Lease is how long a process keeps its lanes after it was last seen.
	Lease = 4 * time.Second
	// dueChannel and useChannel are the channels of NOTIFY, before the name of the schema.
	dueChannel = "studio_due_"
	useChannel = "studio_use_"
	// deletedMark begins what is said there of a deletion.
	deletedMark = "-"
	// laneOfSubject is Lane in SQL.
	laneOfSubject = `get_byte(decode(md5(origin), 'hex'), 0)`
)

var (
	// ErrNotHeld is returned when another process has taken the lanes of one that was not seen for [Lease].
	ErrNotHeld = errors.New("another process has taken over")
	// ErrSetBack is returned when the clock of the database was set back; see [Store.FollowClock].
	ErrSetBack = errors.New("the clock of the database was set back")
)

// setBack is by how much the clock was set back since a holder was seen, at least, in microseconds; no row
// when it was not. A second is nothing to notice.
const setBack = `SELECT (extract(epoch FROM max(seen_at) - clock_timestamp()) * 1000000)::bigint FROM holders
	HAVING max(seen_at) > clock_timestamp() + INTERVAL '1 second'`

// Lane is the share that an origin belongs to.
func Lane(origin string) int {
	sum := md5.Sum([]byte(origin)) //nolint:gosec // see the import
	return int(sum[0])
}

// Holder is a process that delivers, as PostgreSQL knows it. It has a connection of its own, so that
// it is seen however busy the others are. It is not safe for concurrent use.
type Holder struct {
	ID         string
	store      *Store
	connection *pgx.Conn
}

// NewHolder makes a holder of no lanes. The store must be on PostgreSQL.
func (s *Store) NewHolder() *Holder { return &Holder{ID: uuid.NewString(), store: s} }

// Holding is what a holder has.
type Holding struct {
	Lanes []int
	Fair  int       // lanes for each holder if all have the same number
	Gone  int       // holders that were deleted because they were not seen
	Now   time.Time // by the clock of the database
}

// Renew says that the holder is alive, deletes those that are not, and takes lanes that nobody has, up
// to a fair share. A holder that was deleted gets ErrNotHeld; it must begin anew with another. Nobody is
// alive for a clock that was set back, until [Store.FollowClock].
func (h *Holder) Renew(ctx context.Context, first bool) (holding Holding, err error) {
	connection, err := h.connect(ctx)
	if err != nil {
		return holding, err
	}
	batch := new(pgx.Batch)
	seen, now := false, int64(0)
	renew := `UPDATE holders SET seen_at = clock_timestamp() WHERE id = $1 AND NOT EXISTS (` + setBack + `)`
	if first {
		renew = `INSERT INTO holders (id, seen_at) SELECT $1, clock_timestamp() WHERE NOT EXISTS (` + setBack + `)`
	}
	back := false
	batch.Queue(setBack).Query(func(rows pgx.Rows) error {
		back = rows.Next()
		rows.Close()
		return rows.Err()
	})
	batch.Queue(renew+` RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, h.ID).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			seen = true
			if err := rows.Scan(&now); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	// What one of them writes just now is waited for at the next renewal.
	batch.Queue(`DELETE FROM holders WHERE id IN (SELECT id FROM holders
		WHERE seen_at < clock_timestamp() - make_interval(secs => $1) FOR UPDATE SKIP LOCKED)`, Lease.Seconds()).
		Query(func(rows pgx.Rows) error {
			rows.Close()
			holding.Gone = int(rows.CommandTag().RowsAffected())
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
				if err := rows.Scan(&lane, &holding.Fair); err != nil {
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
	case back:
		return holding, ErrSetBack
	case !seen:
		return holding, ErrNotHeld
	}
	holding.Now = time.UnixMicro(now)
	return holding, nil
}

// FollowClock follows a clock of the database that was set back: what waits for its next attempt waits no
// longer for that. It deletes all holders, or what they record by the earlier time would wait. The first
// process that calls it does this for all; it returns 0 for the others.
func (s *Store) FollowClock(ctx context.Context) (by time.Duration, err error) {
	err = s.write(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, `LOCK TABLE holders IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var micros int64
		err := one(ctx, tx, []any{&micros}, setBack)
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

// Release gives lanes to whoever takes them first. Nothing of theirs may be at work.
func (h *Holder) Release(ctx context.Context, lanes []int) error {
	connection, err := h.connect(ctx)
	if err == nil {
		_, err = connection.Exec(ctx, `WITH released AS (UPDATE lanes SET holder = NULL WHERE holder = $1 AND lane = ANY($2) RETURNING lane)
			SELECT pg_notify($3 || current_schema(), '') FROM released LIMIT 1`, h.ID, lanes, dueChannel)
	}
	return err
}

// Leave gives all lanes to others.
func (h *Holder) Leave(ctx context.Context) error {
	connection, err := h.connect(ctx)
	if err == nil {
		_, err = connection.Exec(ctx, `WITH gone AS (DELETE FROM holders WHERE id = $1 RETURNING id)
			SELECT pg_notify($2 || current_schema(), '') FROM gone`, h.ID, dueChannel)
	}
	return errors.Join(err, h.Close(ctx))
}

// Close closes the connection, if there is one.
func (h *Holder) Close(ctx context.Context) error {
	if h.connection == nil {
		return nil
	}
	return h.connection.Close(ctx)
}

func (h *Holder) connect(ctx context.Context) (_ *pgx.Conn, err error) {
	if h.connection == nil || h.connection.IsClosed() {
		h.connection, err = pgx.ConnectConfig(ctx, h.store.Pool().Config().ConnConfig)
	}
	return h.connection, err
}

// Heard is what a process does about what others tell it.
type Heard struct {
	Ready    func()          // nothing will be missed from now on
	Due      func(line Line) // events of a line have become due
	Deleted  func(line Line) // subjects of a line were deleted
	Released func()          // a holder has given lanes away
}

// Listen hears other processes until ctx or the connection ends.
func (s *Store) Listen(ctx context.Context, heard Heard) (err error) {
	connection, err := pgx.ConnectConfig(ctx, s.Pool().Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	var schema string
	if err := connection.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return err
	}
	for _, channel := range []string{dueChannel, useChannel} {
		if _, err := connection.Exec(ctx, `LISTEN `+pgx.Identifier{channel + schema}.Sanitize()); err != nil {
			return err
		}
	}
	heard.Ready()
	for {
		notification, err := connection.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if notification.Channel == useChannel+schema {
			if s.onUse != nil {
				s.onUse(notification.Payload)
			}
			continue
		}
		payload, deleted := strings.CutPrefix(notification.Payload, deletedMark)
		switch line, ok := parseLine(payload); {
		case !ok:
			heard.Released()
		case deleted:
			heard.Deleted(line)
		default:
			heard.Due(line)
		}
	}
}

// Announce tells the other processes that events of some lines have become due. It is not part of the
// transaction that makes them so: a commit that notifies waits for every other that does.
func (s *Store) Announce(ctx context.Context, lines []Line) error { return s.notify(ctx, "", lines) }

// AnnounceDeleted tells them that subjects of some lines were deleted.
func (s *Store) AnnounceDeleted(ctx context.Context, lines []Line) error {
	return s.notify(ctx, deletedMark, lines)
}

// AnnounceUse tells the other processes what this one does for users; see [Config.OnUse].
func (s *Store) AnnounceUse(ctx context.Context, message string) error {
	_, err := s.Pool().Exec(ctx, `SELECT pg_notify($1 || current_schema(), $2)`, useChannel, message)
	return err
}

func (s *Store) notify(ctx context.Context, mark string, lines []Line) error {
	payloads := make([]string, len(lines))
	for i, line := range lines {
		payloads[i] = mark + line.UserID + " " + line.Origin
	}
	_, err := s.Pool().Exec(ctx, `SELECT pg_notify($1 || current_schema(), payload) FROM unnest($2::text[]) payload`, dueChannel, payloads)
	return err
}

func parseLine(payload string) (line Line, ok bool) {
	line.UserID, line.Origin, ok = strings.Cut(payload, " ")
	return line, ok
}
