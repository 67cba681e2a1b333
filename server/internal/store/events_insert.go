package store

import (
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// newEvents are the new events of one user in a transaction.
type newEvents struct {
	userID string
	count  int
	at     int64 // the latest time of their creation, in microseconds
	video  int64 // seconds of the videos that succeeded
}

// setClocks is the statement that sets the clocks of users, and so takes times for their new events. It also adds the
// videos that succeeded. It locks the clocks in the order of the users, after all other rows, so that no transactions
// wait for each other.
//
//nolint:gochecknoglobals // a constant
var setClocks = newRowStatement(`user_id text, at bigint, events bigint, video_seconds bigint`,
	func(n *newEvents) []any { return []any{n.userID, n.at + int64(n.count) - 1, n.count, n.video} }, func(dialect) string {
		const next = `event_clocks.last_at + (SELECT MAX(r.events) FROM r)` // DO UPDATE cannot refer to a row of r
		return `INSERT INTO event_clocks (user_id, last_at, video_seconds) SELECT r.user_id, r.at, r.video_seconds FROM r WHERE r.events > 0
			ON CONFLICT (user_id) DO UPDATE SET last_at = CASE WHEN excluded.last_at > ` + next + ` THEN excluded.last_at ELSE ` + next + ` END,
			video_seconds = event_clocks.video_seconds + excluded.video_seconds`
	})

// subjectEvent is a new event of a subject.
type subjectEvent struct {
	*studio.Event

	subject *studio.Subject
	user    *newEvents
	number  int // 1, 2, 3 … within user
}

// insertEvents is the statement that inserts events, after setClocks.
//
//nolint:gochecknoglobals // a constant
var insertEvents = newRowStatement(`id text, subject_id text, user_id text, kind text, sequence bigint, body bytea, state text,
		later bigint`,
	func(e subjectEvent) []any {
		state := studio.EventPending
		if e.subject.WebhookURL == "" {
			state = studio.EventUnsent
		}
		return []any{
			e.ID, e.subject.ID, e.subject.UserID, string(e.subject.Kind), e.Sequence, e.Body, string(state), e.user.count - e.number,
		}
	}, func(sql dialect) string {
		return `INSERT INTO events (id, subject_id, user_id, kind, sequence, body, state, created_at, ended_at)
			SELECT r.id, r.subject_id, r.user_id, r.kind, r.sequence, r.body, r.state, last_at - r.later, CASE WHEN r.state = 'none' THEN last_at - r.later END
			FROM r, (SELECT user_id, last_at FROM event_clocks WHERE ` + sql.in("user_id", `SELECT r.user_id FROM r`) + `) clock
			WHERE clock.user_id = r.user_id`
	})

// insertDeliveries is the statement that queues subjects with new events. A subject that waits for an earlier event
// stays as it is.
//
//nolint:gochecknoglobals // a constant
var insertDeliveries = newRowStatement(deliveryColumns,
	func(s *studio.Subject) []any {
		first := s.Events[0]
		return []any{
			s.ID, s.UserID, studio.Origin(s.WebhookURL), s.WebhookURL, first.Sequence, micros(first.CreatedAt), s.RequestID, s.TraceParent,
		}
	}, func(sql dialect) string {
		return insertInto("deliveries", deliveryColumns, "due_at")(sql) + ` WHERE r.url <> '' ON CONFLICT (subject_id) DO NOTHING`
	})

const deliveryColumns = `subject_id text, user_id text, origin text, url text, sequence bigint, due_at bigint, request_id text, trace_parent text`

// writeEvents returns the statements that insert the new events of subjects and queue those with a webhook, and marks
// their users and flows. They are the last statements of the transaction, which has locked the subjects.
func writeEvents(tx transaction, subjects []*studio.Subject) []statement {
	var events []subjectEvent
	var deliveries []*studio.Subject
	var users []*newEvents // sorted by their IDs
	for _, s := range subjects {
		if len(s.Events) == 0 {
			continue
		}
		i, found := slices.BinarySearchFunc(users, s.UserID, func(n *newEvents, id string) int { return strings.Compare(n.userID, id) })
		if !found {
			users = slices.Insert(users, i, &newEvents{userID: s.UserID})
			tx.mark(signalEvents, s.UserID)
		}
		user := users[i]
		user.video += s.VideoSeconds() // its last event is that it succeeded
		for i := range s.Events {
			user.count++
			user.at = max(user.at, s.Events[i].CreatedAt.UnixMicro())
			events = append(events, subjectEvent{&s.Events[i], s, user, user.count})
		}
		if s.WebhookURL != "" {
			deliveries = append(deliveries, s)
			tx.mark(SignalDue, Flow{UserID: s.UserID, Origin: studio.Origin(s.WebhookURL)}.key())
		}
	}
	return slices.Concat(insertDeliveries.with(tx, deliveries...), setClocks.with(tx, users...), insertEvents.with(tx, events...))
}
