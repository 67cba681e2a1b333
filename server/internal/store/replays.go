package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// replayBatch bounds the events that one transaction replays, because other writes wait for it on SQLite. A batch
	// has all events of its subjects, so it may be larger by a few.
	replayBatch = 100
	// scannedEvents bounds the events that one query counts or filters, because others wait for its connection.
	scannedEvents = 10_000
	// maxReplayBacklog is how many deliveries of a user may be due when the next batch is replayed. So the new events
	// of the user do not wait for all that are replayed.
	maxReplayBacklog = 1000
	// replayCounts limits the replays that are counted at once. A count may read the entries of many events, and would
	// otherwise take every connection from the other queries.
	replayCounts = 2
	// replayPause is how long a replay waits if more are due, and a process if another one works off the replay.
	replayPause = time.Second
)

// selectionConditions returns the conditions of a selection on events e that have ended at a time and follow after, the
// oldest first.
func selectionConditions(sql dialect, selection studio.ReplaySelection, at time.Time, after studio.Position) conditions {
	filter := selection.Filter
	if len(selection.EventIDs) > 0 || filter.SubjectID != "" {
		filter.UserID = "" // the planner of SQLite would use its index, and read all events of the user
	}
	where := eventConditions(filter, studio.OldestFirst, after)
	if filter.UserID != selection.Filter.UserID {
		where.add("e.user_id || '' = ?", selection.Filter.UserID)
	}
	states := make([]string, len(selection.States))
	for i, state := range selection.States {
		states[i] = "'" + strings.ReplaceAll(string(state), "'", "") + "'"
	}
	if states := strings.Join(states, ", "); states == "'exhausted'" {
		where.add("e.state = 'exhausted' AND e.reason <> ''") // for the partial index
	} else {
		where.add("e.state IN (" + states + ")")
	}
	where.add("e.reason <> 'deleted' AND e.ended_at <= ?", micros(at))
	if len(selection.EventIDs) > 0 {
		where.add(sql.in("e.id", where.elements(sql, selection.EventIDs)))
	}
	return where
}

// errCounting means that other replays are counted.
var errCounting = errors.New("other replays are counted")

// CountReplay implements [studio.ReplayStore]. It reads the index entries of the events, and for delivered ones the
// rows. It returns [studio.ErrBusy] if it has waited for other counts for acquireTimeout.
func (s *Store) CountReplay(ctx context.Context, selection studio.ReplaySelection, now time.Time) (count int64, err error) {
	wait, cancel := context.WithTimeoutCause(ctx, acquireTimeout, unavailableError{errCounting})
	defer cancel()
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-wait.Done():
		return 0, context.Cause(wait)
	}
	var last studio.Position
	for events := scannedEvents; events == scannedEvents && err == nil; {
		where := selectionConditions(s.engine, selection, now, last)
		most, n := where.parameter(scannedEvents), int64(0)
		err = queryRow(ctx, s.engine, []any{&events, &n, instant{&last.CreatedAt}, &last.ID}, `WITH page AS (
				SELECT e.created_at, e.id, CASE WHEN e.state = 'delivered' AND EXISTS (SELECT 1 FROM subjects s
					WHERE s.id = e.subject_id AND s.deleted_at IS NOT NULL) THEN 0 ELSE 1 END AS counted
				FROM events e WHERE `+where.sql+` ORDER BY e.created_at, e.id `+limitTo(most)+`
			) SELECT COUNT(*), COALESCE(SUM(counted), 0), (SELECT created_at FROM page ORDER BY created_at DESC, id DESC LIMIT 1),
				COALESCE((SELECT id FROM page ORDER BY created_at DESC, id DESC LIMIT 1), '') FROM page`, where.args...)
		count += n
	}
	return count, orZero(err) // a parameter may not be valid text, which no row can contain
}

// newReplay is a replay that is inserted.
type newReplay struct {
	*keyed

	id, selection string
	events        int64
	at            time.Time
}

// insertReplays is the statement that inserts replays.
//
//nolint:gochecknoglobals // a constant
var insertReplays = newRowStatement(replayColumns,
	func(r newReplay) []any {
		return []any{r.id, r.userID, r.selection, r.events, micros(r.at), micros(r.at), r.keyHash, r.key.Fingerprint}
	}, insertInto("replays", replayColumns, "requested_at", "turn_at"))

const replayColumns = `id text, user_id text, selection text, events bigint, requested_at bigint, turn_at bigint, key_hash bytea, fingerprint bytea`

func (s *Store) AddReplay(
	ctx context.Context, id string, selection studio.ReplaySelection, key studio.IdempotencyKey, now time.Time, limit int,
) (events int64, err error) {
	count, err := s.CountReplay(ctx, selection, now) // before the transaction, which would make other writes wait
	if err != nil {
		return 0, err
	}
	text, err := json.Marshal(selection)
	if err != nil {
		return 0, err
	}
	r := newKeyed(selection.Filter.UserID, key)
	err = s.write(ctx, func(tx transaction) error {
		events = count
		if err := lockKeys(ctx, tx, []*keyed{&r}); err != nil {
			return err
		}
		switch {
		case r.err != nil:
			return r.err
		case !r.keyUse.valid():
		case !bytes.Equal(r.keyUse.fingerprint, key.Fingerprint):
			return studio.ErrKeyReused
		default:
			return queryRow(ctx, tx, []any{&events}, `SELECT events FROM replays WHERE id = $1`, r.keyUse.id)
		}
		if count == 0 && key.Key == "" {
			return nil
		}
		if r.userID != "" { // so that concurrent requests do not exceed the limit together
			if err := lockUser(ctx, tx, `id = $1`, r.userID); err != nil {
				return err
			}
		}
		running := 0
		err := queryRow(ctx, tx, []any{&running}, `SELECT COUNT(*) FROM replays WHERE user_id = $1 AND turn_at IS NOT NULL`, r.userID)
		if err == nil && running >= limit {
			err = studio.ErrTooManyReplays
		}
		if err != nil {
			return err
		}
		if r.keyUse.expired {
			if err := tx.execAll(ctx, forgetKeys(tx, &r)); err != nil {
				return err
			}
		}
		tx.mark(SignalReplay, "")
		return tx.execAll(ctx, insertReplays.with(tx, newReplay{&r, id, string(text), events, now}))
	})
	return events, err
}

// replay is a replay that is not finished.
type replay struct {
	id, userID  string
	selection   studio.ReplaySelection
	requestedAt time.Time
	after       studio.Position // of the last event that was replayed
}

// errReplayTaken means that another process has replayed the same batch.
var errReplayTaken = errors.New("store: another process works off the replay")

// ReplayNext replays the next batch of the replay whose turn it is at now. It returns when to call it again, which may
// be past, or the zero time if no replay is unfinished. Replays of different users take turns. Those of a user follow
// each other. Any number of processes may call it.
func (s *Store) ReplayNext(ctx context.Context, now time.Time) (next time.Time, err error) {
	var r replay
	err = queryRow(ctx, s.engine, []any{
		&r.id, &r.userID,
		jsonText{&r.selection},
		instant{&r.requestedAt},
		instant{&r.after.CreatedAt},
		&r.after.ID,
		instant{&next},
	}, `SELECT id, user_id, selection, requested_at, after_at, after_id, turn_at FROM replays WHERE turn_at IS NOT NULL AND NOT EXISTS
			(SELECT 1 FROM replays earlier WHERE earlier.user_id = replays.user_id AND earlier.turn_at IS NOT NULL AND earlier.id < replays.id)
		ORDER BY turn_at LIMIT 1`)
	if errors.Is(err, studio.ErrNotFound) {
		return next, nil
	}
	if err != nil || next.After(now) {
		return next, err
	}
	backlog := 0
	err = queryRow(ctx, s.engine, []any{&backlog}, `SELECT COUNT(*) FROM (SELECT * FROM deliveries WHERE user_id = $1 AND due_at <= $2
			`+limitTo("$3")+`) deliveries WHERE `+notPaused+` AND NOT EXISTS
			(SELECT 1 FROM breakers b WHERE b.origin = deliveries.origin AND b.until > $2)`, r.userID, micros(now), maxReplayBacklog)
	if err != nil {
		return next, err
	}
	if backlog >= maxReplayBacklog {
		return next, s.exec(ctx, `UPDATE replays SET turn_at = $2 WHERE id = $1 AND turn_at IS NOT NULL`, r.id, micros(now.Add(replayPause)))
	}
	subjects, last, more, err := s.nextReplayed(ctx, r)
	if err != nil {
		return next, err
	}
	err = s.write(ctx, func(tx transaction) error { return r.write(ctx, tx, subjects, last, more, now) })
	if errors.Is(err, errReplayTaken) {
		return now.Add(replayPause), nil
	}
	return next, err
}

// nextReplayed returns the subjects of the next events that are to be replayed, and the position of the last event.
func (s *Store) nextReplayed(ctx context.Context, r replay) (subjects []string, last studio.Position, more bool, err error) {
	where := selectionConditions(s.engine, r.selection, r.requestedAt, r.after)
	events, last := 0, r.after
	limit := where.parameter(replayBatch)
	err = s.engine.query(ctx, func(scan func(...any) error) error {
		var subject string
		err := scan(&subject, instant{&last.CreatedAt}, &last.ID)
		subjects, events = append(subjects, subject), events+1
		return err
	}, `SELECT e.subject_id, e.created_at, e.id FROM events e WHERE `+where.sql+` ORDER BY e.created_at, e.id `+limitTo(limit), where.args...)
	return subjects, last, events == replayBatch, err
}

// write moves the replay to the position last, and makes the selected events of subjects pending. It takes all events
// of a subject at once, because a later one could otherwise be sent before an earlier one that is in the next batch. It
// locks the subjects before their events, as a deletion does, so that neither waits for the other.
func (r *replay) write(ctx context.Context, tx transaction, subjects []string, last studio.Position, more bool, now time.Time) error {
	turn := any(nil)
	if more {
		turn = micros(now)
	}
	moved, err := tx.exec(ctx, `UPDATE replays SET turn_at = $2, after_at = $3, after_id = $4
		WHERE id = $1 AND turn_at IS NOT NULL AND after_at = $5 AND after_id = $6`,
		r.id, turn, last.CreatedAt.UnixMicro(), last.ID, r.after.CreatedAt.UnixMicro(), r.after.ID)
	if err == nil && moved == 0 {
		err = errReplayTaken
	}
	if err != nil || len(subjects) == 0 {
		return err
	}
	var where conditions
	live, err := queryRows(ctx, tx, oneColumn[string], `SELECT id FROM subjects WHERE `+tx.in("id", where.elements(tx, subjects))+
		` AND deleted_at IS NULL ORDER BY id`+tx.forUpdate(), where.args...)
	if err != nil || len(live) == 0 {
		return err
	}
	return r.replayEvents(ctx, tx, live, now)
}

// replayEvents makes the selected events of subjects pending, and due at now.
func (r *replay) replayEvents(ctx context.Context, tx transaction, subjects []string, now time.Time) error {
	selection := r.selection
	selection.Filter.UserID, selection.Filter.WorkspaceID, selection.Filter.SubjectID = "", "", "" // the subjects match; their index is the best
	where := selectionConditions(tx, selection, r.requestedAt, studio.Position{})
	where.add(tx.in("e.subject_id", where.elements(tx, subjects)))
	_, err := tx.exec(ctx, `UPDATE events AS e SET state = 'pending', tries = 0, ended_at = NULL, reason = '' WHERE `+where.sql, where.args...)
	if err != nil {
		return err
	}
	return requeue(ctx, tx, subjects, now)
}
