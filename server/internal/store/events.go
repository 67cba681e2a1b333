package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// replayBatch bounds the events that one transaction replays, so that its locks are short.
const replayBatch = 500

// eventConditions returns the conditions of a filter on events e.
func eventConditions(f studio.EventFilter) conditions {
	where := conditions{sql: "true"}
	if f.ID != "" {
		where.add("e.id = ?", f.ID)
	}
	if f.UserID != "" {
		where.add("e.user_id = ?", f.UserID)
	}
	if f.SubjectID != "" {
		where.add("e.subject_id = ?", f.SubjectID)
	}
	switch f.State { // literals, because a partial index cannot match a parameter
	case studio.NoEventState:
	case studio.EventPending, studio.EventDelivered:
		where.add("e.state = '" + string(f.State) + "'")
	case studio.EventExhausted:
		where.add("e.state = 'exhausted' AND e.reason <> ''")
	}
	if !f.From.IsZero() {
		where.add("e.created_at >= ?", micros(f.From))
	}
	if !f.To.IsZero() {
		where.add("e.created_at < ?", micros(f.To))
	}
	return where
}

// Events returns up to limit events that the filter selects, in descending order of ID: the newest subjects
// first, and the newest events of a subject first. It starts after the event with the ID after, or at the first
// if after is "".
func (s *Store) Events(ctx context.Context, filter studio.EventFilter, after string, limit int) ([]studio.EventRecord, error) {
	where := eventConditions(filter)
	if after != "" {
		where.add("e.id < ?", after)
	}
	return s.events(ctx, where, "e.id DESC", limit)
}

func (s *Store) events(ctx context.Context, where conditions, order string, limit int) ([]studio.EventRecord, error) {
	rows := where.parameter(limit)
	var events []studio.EventRecord
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var e studio.EventRecord
		var dueAt, openUntil time.Time
		err := scan(append([]any{
			&e.ID, &e.SubjectID, &e.Sequence, &e.Body,
			instant{&e.CreatedAt},
			&e.UserID, &e.URL, &e.State, &e.Tries,
			instant{&e.EndedAt},
			&e.Reason, &e.Kind, &e.Title, &e.Status, &e.Deleted,
			instant{&dueAt},
			instant{&openUntil},
		}, attemptDest(&e.Last)...)...)
		if !dueAt.IsZero() {
			e.NextAt = slices.MaxFunc([]time.Time{e.CreatedAt, dueAt, openUntil}, time.Time.Compare)
		}
		events = append(events, e)
		return err
	}, fmt.Sprintf(`SELECT e.id, e.subject_id, e.sequence, e.body, e.created_at, s.user_id, s.webhook_url, e.state,
			e.tries, e.ended_at, e.reason, s.kind, s.title, s.status, s.deleted_at IS NOT NULL, d.due_at, b.until,
			`+lastAttemptColumns+`
		FROM (SELECT * FROM events e WHERE %[1]s ORDER BY %[2]s LIMIT %[3]s + 0) e
			JOIN subjects s ON s.id = e.subject_id LEFT JOIN breakers b ON b.origin = s.origin
			LEFT JOIN deliveries d ON d.subject_id = e.subject_id AND d.sequence = e.sequence
		ORDER BY %[2]s`, where.sql, order, rows), where.args...)
	return events, err
}

// Event returns one event, or studio.ErrNotFound. See [Store.Attempts] for its attempts.
func (s *Store) Event(ctx context.Context, id string) (studio.EventRecord, error) {
	events, err := s.Events(ctx, studio.EventFilter{ID: id}, "", 1)
	if err != nil {
		return studio.EventRecord{}, err
	}
	if len(events) == 0 {
		return studio.EventRecord{}, studio.ErrNotFound
	}
	return events[0], nil
}

// Replay makes the exhausted events that the filter selects pending again, and returns their number. Each is
// due at now, with the whole retry schedule, the same ID and the same body. The events of a subject are sent
// in order, before its later pending events. Replay uses several transactions: after an error, some events
// may have been replayed, and Replay may be called again. It skips events of deleted subjects.
func (s *Store) Replay(ctx context.Context, filter studio.EventFilter, now time.Time) (replayed int, err error) {
	filter.State = studio.EventExhausted
	where := eventConditions(filter)
	at := where.parameter(micros(now))
	where.add("e.reason <> 'deleted' AND e.ended_at <= " + at)
	batchSize := where.parameter(replayBatch)
	// The condition on ended_at skips an event that was replayed and exhausted again during this call. The outer
	// conditions are checked again on an event that another transaction changed after the subquery.
	selected := fmt.Sprintf(`FROM events e WHERE %s ORDER BY e.id LIMIT %s`, where.sql, batchSize)
	query := `UPDATE events SET state = 'pending', tries = 0, ended_at = NULL, reason = ''
		WHERE state = 'exhausted' AND reason <> 'deleted' AND id IN (SELECT e.id ` + selected + `) RETURNING subject_id`
	for batch := 1; batch > 0; replayed += batch { // a batch is smaller if another transaction changed some of its events
		err := s.write(ctx, func(tx transaction) error {
			batch = 0
			subjects := make(map[string]struct{})
			// A deletion locks the subjects before their events, too, so that neither waits for the other.
			locked, err := queryRows(ctx, tx, oneColumn[string],
				`SELECT id FROM subjects WHERE id IN (SELECT e.subject_id `+selected+`) ORDER BY id`+tx.forUpdate(), where.args...)
			if err != nil || len(locked) == 0 {
				return err
			}
			err = tx.query(ctx, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				subjects[id] = struct{}{}
				batch++
				return err
			}, query, where.args...)
			for _, id := range slices.Sorted(maps.Keys(subjects)) {
				if err == nil {
					err = tx.execAll(ctx, []statement{lockSubject(tx, id)})
				}
				if err == nil {
					err = requeue(ctx, tx, id, now)
				}
			}
			return err
		})
		if err != nil {
			return replayed, err
		}
	}
	return replayed, nil
}
