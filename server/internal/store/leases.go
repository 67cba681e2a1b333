package store

import (
	"context"
	"crypto/md5" //nolint:gosec // a hash for sharding, not for security
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// Lanes is the number of lanes, the shards of all origins.
	Lanes = 256
	// Lease is how long a process keeps its lanes after its last renewal.
	Lease = 4 * time.Second
	// releaseDelay is how long the events of running attempts wait after [LeaseHolder.Release], unless the attempts are
	// saved before. It exceeds the timeouts of reading the secrets and of an attempt.
	releaseDelay = 20 * time.Second
	// leaseSeparator is between the name of a process and the number of its lease.
	leaseSeparator = "."
	// laneOfDelivery is the SQL expression for [Lane].
	laneOfDelivery = `get_byte(decode(md5(origin), 'hex'), 0)`
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

// fairShare is the SQL expression for [Holding].FairShare of the holder $1.
const fairShare = `(SELECT CASE WHEN bool_or(id = $1) THEN (256 + count(*) - 1) / count(*) ELSE 0 END FROM holders WHERE NOT leaving)`

// Lane returns the lane of an origin, from 0 to [Lanes] - 1.
func Lane(origin string) int {
	sum := md5.Sum([]byte(origin)) //nolint:gosec // see the import
	return int(sum[0])
}

// LeaseHolder holds a lease of this process on its lanes, on PostgreSQL. A process that has lost its lease has another
// one afterwards: the ID, a fencing token, is that of the process with the number of the lease. It uses a connection of
// its own, so that a busy pool does not delay a renewal. It is not safe for concurrent use.
type LeaseHolder struct {
	ID         string
	store      *Store
	connection *pgx.Conn
	running    *flock.Flock
	added      bool // a renewal has added the holder
}

// NewLeaseHolder returns a lease holder without lanes. The store must be on PostgreSQL.
func (s *Store) NewLeaseHolder() *LeaseHolder {
	id := fmt.Sprint(s.processID, leaseSeparator, s.leases.Add(1))
	return &LeaseHolder{ID: id, store: s, running: flock.New(holderFile(id), flock.SetPermissions(0o600))}
}

// holderFile returns the path of the file that the process of a lease holder has locked as long as it runs. The system
// releases the lock when the process ends, even if it is killed. So a process on the same machine, such as the
// restarted one, need not wait for the end of the lease.
func holderFile(id string) string { return filepath.Join(os.TempDir(), "studiod-"+id+".lock") }

// holderEnded reports whether the process of a lease holder ran on this machine and has ended.
func holderEnded(id string) bool {
	lock := flock.New(holderFile(id), flock.SetFlag(os.O_RDWR)) // does not create the file
	locked, err := lock.TryLock()
	return err == nil && locked && lock.Close() == nil
}

// Holding is the result of a renewal.
type Holding struct {
	Lanes     []int
	FairShare int       // lanes of each holder if all have an equal share, rounded up; 0 for one that leaves
	Others    []string  // the IDs of the other holders
	Now       time.Time // by the clock of the database
}

// Renew renews the lease. It deletes holders whose lease has expired, or whose process ran on this machine and has
// ended, and takes free lanes, up to a fair share. A holder that is leaving takes none and leaves them to the others.
// The first call that succeeds adds the holder. Renew returns ErrLeaseLost if another process deleted the holder; the
// caller must then use a new one. It returns ErrClockSetBack and renews nothing if the clock was set back, until
// [Store.HandleClockSetBack] is called.
func (h *LeaseHolder) Renew(ctx context.Context, leaving bool) (holding Holding, err error) {
	holding, err = h.renew(ctx, leaving, nil)
	if ended := slices.DeleteFunc(slices.Clone(holding.Others), func(id string) bool { return !holderEnded(id) }); err == nil && len(ended) > 0 {
		holding, err = h.renew(ctx, leaving, ended)
	}
	return holding, err
}

// renew is Renew. It also deletes the holders with the IDs ended.
func (h *LeaseHolder) renew(ctx context.Context, leaving bool, ended []string) (holding Holding, err error) {
	connection, err := h.connect(ctx)
	if err != nil {
		return holding, err
	}
	batch := new(pgx.Batch)
	renewed, now := false, int64(0)
	renew := `UPDATE holders SET seen_at = clock_timestamp(), leaving = $2 WHERE id = $1 AND NOT EXISTS (` + clockSetBackQuery + `)`
	if !h.added {
		_, _ = h.running.TryLock() // without the lock, other processes wait for the end of the lease
		// The answer of an earlier call may have been lost after its commit.
		renew = `INSERT INTO holders (id, seen_at, leaving) SELECT $1, clock_timestamp(), $2 WHERE NOT EXISTS (` + clockSetBackQuery + `)
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, leaving = excluded.leaving`
	}
	clockSetBack := false
	batch.Queue(clockSetBackQuery).Exec(func(tag pgconn.CommandTag) error {
		clockSetBack = tag.RowsAffected() > 0
		return nil
	})
	batch.Queue(renew+` RETURNING `+postgresDialect{}.clock(), h.ID, leaving).Query(func(rows pgx.Rows) error {
		tag, err := pgx.ForEachRow(rows, []any{&now}, func() error { return nil })
		renewed = tag.RowsAffected() > 0
		return err
	})
	// SKIP LOCKED leaves a holder that another transaction has locked to the next renewal.
	batch.Queue(`DELETE FROM holders WHERE id IN (SELECT id FROM holders
		WHERE seen_at < clock_timestamp() - make_interval(secs => $1) OR id = ANY($2) FOR UPDATE SKIP LOCKED) RETURNING id`,
		Lease.Seconds(), ended).Query(func(rows pgx.Rows) error {
		deleted, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range deleted {
			_ = os.Remove(holderFile(id))
		}
		return err
	})
	batch.Queue(`UPDATE lanes SET holder = $1 WHERE lane IN (SELECT lane FROM lanes WHERE holder IS NULL ORDER BY lane
		LIMIT GREATEST(0, `+fairShare+` - (SELECT count(*) FROM lanes WHERE holder = $1)) FOR NO KEY UPDATE SKIP LOCKED)`, h.ID)
	batch.Queue(`SELECT lane, `+fairShare+` FROM lanes WHERE holder = $1`, h.ID).
		Query(func(rows pgx.Rows) error {
			var lane int
			_, err := pgx.ForEachRow(rows, []any{&lane, &holding.FairShare}, func() error {
				holding.Lanes = append(holding.Lanes, lane)
				return nil
			})
			return err
		})
	batch.Queue(`SELECT id FROM holders WHERE id <> $1`, h.ID).Query(func(rows pgx.Rows) (err error) {
		holding.Others, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
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
	h.added, holding.Now = true, time.UnixMicro(now)
	return holding, nil
}

// HandleClockSetBack adds the tasks that move all due times back after the clock of the database was set back, so that
// no retry is late; see [Store.NextBatch]. It deletes all lease holders, because they have the old time. The first
// process that calls it does this for all processes; it returns 0 to the others. The store must be on PostgreSQL; see
// [Store.ShiftDue] for SQLite.
func (s *Store) HandleClockSetBack(ctx context.Context) (by time.Duration, err error) {
	err = s.write(ctx, func(tx transaction) error {
		if _, err := tx.exec(ctx, `LOCK TABLE holders IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var micros int64
		err := queryRow(ctx, tx, []any{&micros}, clockSetBackQuery)
		if by = time.Duration(micros) * time.Microsecond; by == 0 {
			return orZero(err)
		}
		if _, err = tx.exec(ctx, `DELETE FROM holders`); err == nil {
			tx.mark(SignalTask, "")
			err = tx.execAll(ctx, shiftTasks(-by))
		}
		return err
	})
	return by, err
}

// Release releases lanes, which the other processes take with their next renewals. running are the subjects for which
// attempts are running, with the IDs of the events. The caller must save these attempts within releaseDelay. If another
// transaction has locked such a subject, its lane stays, so that the others need not wait for that; call Release again.
func (h *LeaseHolder) Release(ctx context.Context, lanes []int, running map[string]string) error {
	connection, err := h.connect(ctx)
	if err != nil {
		return err
	}
	subjects, batch := slices.Collect(maps.Keys(running)), new(pgx.Batch)
	batch.Queue(lockSubjects, h.ID, subjects)
	batch.Queue(`UPDATE deliveries d SET due_at = now + $2 FROM events e, (SELECT `+postgresDialect{}.clock()+`) clock (now)
		WHERE e.id = ANY($1) AND d.subject_id = e.subject_id AND d.subject_id = ANY(`+lockedSubjects+`) AND d.sequence = e.sequence
			AND d.due_at < now + $2`, slices.Collect(maps.Values(running)), releaseDelay.Microseconds())
	batch.Queue(`UPDATE lanes SET holder = NULL WHERE holder = $1 AND lane = ANY($2) AND lane NOT IN (SELECT `+laneOfDelivery+` FROM deliveries
		WHERE subject_id = ANY($3) AND NOT subject_id = ANY(`+lockedSubjects+`))`, h.ID, lanes, subjects)
	return connection.SendBatch(ctx, batch).Close()
}

// ReleaseAll releases all lanes, deletes the holder and closes its connection. The caller must have ended all
// attempts.
func (h *LeaseHolder) ReleaseAll(ctx context.Context) error {
	connection, err := h.connect(ctx)
	if err == nil {
		_, err = connection.Exec(ctx, `DELETE FROM holders WHERE id = $1`, h.ID)
	}
	return errors.Join(err, h.Close(ctx))
}

// Close closes the connection. The lease remains until it expires.
func (h *LeaseHolder) Close(ctx context.Context) error {
	_, _ = os.Remove(holderFile(h.ID)), h.running.Close() // in this order, so that the process does not seem to have ended
	if h.connection == nil {
		return nil
	}
	return h.connection.Close(ctx)
}

// connect returns the connection of the holder, and opens it if needed. Its commits do not wait for a synchronous
// standby, because a lease need not survive a promotion, and should not expire while the standby is down.
func (h *LeaseHolder) connect(ctx context.Context) (_ *pgx.Conn, err error) {
	if h.connection != nil && !h.connection.IsClosed() {
		return h.connection, nil
	}
	h.connection, err = h.store.postgres.hosts.connect(ctx)
	if err == nil {
		_, err = h.connection.Exec(ctx, `SET synchronous_commit = local`)
	}
	return h.connection, err
}
