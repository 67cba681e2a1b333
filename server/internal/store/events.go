package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// eventConditions returns the conditions of a filter on events e that follow after in an order. A bound of the range
// that after implies is left out: SQLite could begin at it, and would then read all earlier pages again. In the order
// OldestFirst, after is in the range.
func eventConditions(f studio.EventFilter, order studio.EventOrder, after studio.Position) (where conditions) {
	if after.ID != "" && order == studio.OldestFirst {
		where.add("(e.created_at, e.id) > (?, ?)", micros(after.CreatedAt), after.ID)
		f.From = time.Time{}
	} else if after.ID != "" {
		where.add("(e.created_at, e.id) < (?, ?)", micros(after.CreatedAt), after.ID)
		if after.CreatedAt.Before(f.To) {
			f.To = time.Time{}
		}
	}
	where.filter("e.id = ?", f.ID)
	where.filter("e.user_id = ?", f.UserID)
	where.filter("e.subject_id = ?", f.SubjectID)
	where.filter("e.kind = ?", string(f.Kind))
	where.filter("(SELECT w.workspace_id FROM subjects w WHERE w.id = e.subject_id) = ?", f.WorkspaceID)
	switch f.State { // literals, because a partial index cannot match a parameter
	case studio.NoEventState:
	case studio.EventPending, studio.EventDelivered, studio.EventUnsent:
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

// Events reads on PostgreSQL only what survives a failover, because clients continue after what they have read.
func (s *Store) Events(
	ctx context.Context, filter studio.EventFilter, order studio.EventOrder, after studio.Position, limit int,
) ([]studio.EventRecord, bool, error) {
	p := page[studio.EventRecord]{limit: limit}
	rest, err := s.eventsPart(ctx, &p, filter, order, after, 10*limit) // most may match, so the first part is short
	for err == nil && !p.more && rest != nil {
		rest, err = s.eventsPart(ctx, &p, *rest, order, studio.Position{}, scannedEvents)
	}
	return p.rows, p.more, err
}

// eventsPart adds events to a page. If few may match, it adds only those among the first scanned ones, and rest has all
// others. It reads one long part of a user at a time, so that many requests of one do not take every connection.
func (s *Store) eventsPart(
	ctx context.Context, p *page[studio.EventRecord], filter studio.EventFilter, order studio.EventOrder, after studio.Position, scanned int,
) (rest *studio.EventFilter, err error) {
	if scanned >= scannedEvents {
		release, err := s.scans.Acquire(ctx, filter.UserID)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	part, from, direction := filter, "events e", " DESC"
	last, next := &part.From, &filter.To
	if order == studio.OldestFirst {
		direction, last, next = "", &part.To, &filter.From
	}
	all := studio.EventFilter{UserID: filter.UserID, From: filter.From, To: filter.To}
	if filter.State == studio.EventExhausted { // it has an index
		all.State = filter.State
	}
	sorted, few := "e.created_at"+direction+", e.id"+direction, filter.ID != ""
	if filter.SubjectID != "" { // the same order, by the index of the subject
		sorted, few = "e.sequence"+direction, true
	}
	queued := filter.State == studio.EventPending && !few
	if filter != all && !few && !queued {
		where, end := eventConditions(all, order, after), time.Time{}
		rows := where.parameter(scanned)
		err := queryRow(ctx, s.engine, []any{instant{&end}}, `SELECT e.created_at FROM events e`+where.where()+
			` ORDER BY e.created_at`+direction+` LIMIT 1 OFFSET `+rows, where.args...)
		if err == nil {
			*last, *next, rest = end, end, &filter
		} else if orZero(err) != nil {
			return nil, err
		}
	}
	where := eventConditions(part, order, after)
	if queued {
		// Few are pending, and the queue has their subjects. SQLite reads the left side of a CROSS JOIN first.
		from = "deliveries q CROSS JOIN events e"
		where.add("e.subject_id = q.subject_id AND e.sequence >= q.sequence")
		where.filter("q.user_id = ?", filter.UserID)
	}
	rows := where.parameter(p.limit - len(p.rows) + 1)
	return rest, p.query(ctx, confirmedQuerier{s.engine}, scanEvent, selectEvents(s.engine,
		"FROM (SELECT e.* FROM "+from+where.where()+" ORDER BY "+sorted+" "+limitTo(rows)+")", sorted), where.args...)
}

// confirmedQuerier is a querier whose results survive a failover.
type confirmedQuerier struct{ engine }

func (q confirmedQuerier) query(ctx context.Context, each rowFunc, query string, args ...any) error {
	var failure error
	err := q.queryAll(ctx, func(scan func(...any) error) error {
		if failure == nil {
			failure = each(scan)
		}
		return nil // an error would skip the confirmation
	}, []statement{{query, args}})
	return cmp.Or(err, failure)
}

// selectEvents returns the query for events. from is a FROM clause with them as e.
func selectEvents(sql dialect, from, order string) string {
	return `SELECT e.id, e.subject_id, e.sequence, e.body, e.created_at, e.user_id, s.webhook_url, e.state,
			e.tries, e.ended_at, e.reason, e.kind, COALESCE(s.workspace_id, ''), s.title, s.status, s.deleted_at IS NOT NULL, d.due_at, b.until,
			` + lastAttemptColumns + ` ` + from + ` e
			JOIN ` + sql.lookup("subjects s", `s.id = e.subject_id`) + `
			LEFT JOIN ` + sql.lookup("breakers b", `b.origin = s.origin`) + `
			LEFT JOIN ` + sql.lookup("deliveries d", `d.subject_id = e.subject_id AND d.sequence = e.sequence`) + ` ORDER BY ` + order
}

// scanEvent scans a row of selectEvents.
func scanEvent(scan func(...any) error) (e studio.EventRecord, bytes int, err error) {
	var dueAt, openUntil time.Time
	err = scan(append([]any{
		&e.ID, &e.SubjectID, &e.Sequence, &e.Body,
		instant{&e.CreatedAt},
		&e.UserID, &e.URL, &e.State, &e.Tries,
		instant{&e.EndedAt},
		&e.Reason, &e.Kind, &e.WorkspaceID, &e.Title, &e.Status, &e.Deleted,
		instant{&dueAt},
		instant{&openUntil},
	}, attemptDest(&e.Last)...)...)
	if !dueAt.IsZero() {
		e.NextAt = slices.MaxFunc([]time.Time{e.CreatedAt, dueAt, openUntil}, time.Time.Compare)
	}
	bytes = len(e.Body) + len(e.URL)
	if e.Title != nil {
		bytes += len(*e.Title)
	}
	return e, bytes, err
}

// NewEvents has only the conditions and the order of the index events_user, so that PostgreSQL uses that one. With the
// index events_created, it would read the new events of all users for each one.
func (s *Store) NewEvents(ctx context.Context, userID string, after time.Time, limit int) (events []studio.EventRecord, err error) {
	err = confirmedQuerier{s.engine}.query(ctx, func(scan func(...any) error) error {
		e, _, err := scanEvent(scan)
		events = append(events, e)
		return err
	}, selectEvents(s.engine, `FROM (SELECT * FROM events WHERE (user_id, created_at) > ($1, $2)
		AND user_id <= $1 AND reason <> 'deleted' ORDER BY user_id, created_at `+limitTo("$3")+`)`, "e.created_at"),
		userID, after.UnixMicro(), limit)
	return events, err
}

func (s *Store) LastEvents(ctx context.Context, userIDs ...string) (map[string]time.Time, error) {
	var where conditions
	users := where.elements(s.engine, userIDs)
	// Like NewEvents, it reads only what survives a failover, because streams begin there.
	return queryMap(ctx, confirmedQuerier{s.engine}, oneInstant,
		`SELECT user_id, last_at FROM event_clocks WHERE `+s.engine.in("user_id", users), where.args...)
}

// Event returns one event, or studio.ErrNotFound.
func (s *Store) Event(ctx context.Context, id string) (studio.EventRecord, error) {
	events, _, err := s.Events(ctx, studio.EventFilter{ID: id}, studio.NewestFirst, studio.Position{}, 1)
	if len(events) == 0 {
		return studio.EventRecord{}, cmp.Or[error](err, studio.ErrNotFound)
	}
	return events[0], err
}
