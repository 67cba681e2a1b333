package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// rule is an invariant: a query for the subjects that violate it, and the violation in words.
type rule struct{ violation, query string }

// rules are the invariants of every database. $1 is the time before which events may have been pruned. NOT IN with a query
// takes quadratic time on PostgreSQL if its rows exceed work_mem.
//
//nolint:gochecknoglobals // a table
var rules = []rule{
	{
		"does not wait for the delivery of its first pending event",
		`SELECT subject_id FROM (SELECT subject_id, MIN(sequence) AS sequence FROM events WHERE state = 'pending' GROUP BY subject_id) first
			WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = first.subject_id AND d.sequence = first.sequence)
		UNION SELECT subject_id FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = d.subject_id AND e.state = 'pending')`,
	},
	{
		"has a gap in the sequence of its events",
		`SELECT s.id FROM subjects s LEFT JOIN events e ON e.subject_id = s.id WHERE s.created_at > $1
			GROUP BY s.id, s.sequence HAVING COUNT(e.id) <> s.sequence OR COALESCE(MAX(e.sequence), 0) <> s.sequence`,
	},
	{
		"has an event whose end contradicts its state",
		`SELECT subject_id FROM events WHERE (state = 'pending') <> (ended_at IS NULL) OR (state = 'exhausted') <> (reason <> '')`,
	},
	{
		"has events but does not exist",
		`SELECT DISTINCT subject_id FROM events e WHERE NOT EXISTS (SELECT 1 FROM subjects s WHERE s.id = e.subject_id)`,
	},
	{
		"belongs to a deleted user, and no task erases it",
		`SELECT s.id FROM subjects s JOIN users u ON u.id = s.user_id WHERE u.deleted_at IS NOT NULL AND s.deleted_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = u.id)`,
	},
	{
		"has an event at the position of another one",
		`SELECT e.subject_id FROM events e JOIN events o ON o.user_id = e.user_id AND o.created_at = e.created_at AND o.id <> e.id`,
	},
	{
		"has an event whose attempts are numbered with gaps, or fewer than it counts",
		`SELECT e.subject_id FROM events e LEFT JOIN attempts a ON a.event_id = e.id
			GROUP BY e.id, e.subject_id, e.tries, e.last_number HAVING e.last_number < e.tries OR COUNT(a.number) <> COALESCE(MAX(a.number), 0)
				OR COUNT(a.number) <> e.last_number - CASE WHEN e.last_number > 0 THEN 1 ELSE 0 END`,
	},
}

// Violation is an invariant that the rows of a subject violate.
type Violation struct {
	SubjectID string
	Rule      string // the violation in words, with the subject as its subject
}

func (v Violation) String() string { return "subject " + v.SubjectID + " " + v.Rule }

// Check checks the invariants on all rows and returns the violations. Run it while no process uses the
// database; otherwise it may report states that are about to change.
func (s *Store) Check(ctx context.Context) (all []Violation, err error) {
	kept := fmt.Sprint(time.Now().Add(-studio.Retention).UnixMicro())
	for _, rule := range rules {
		subjects, err := queryRows(ctx, s.engine, oneColumn[string], strings.ReplaceAll(rule.query, "$1", kept))
		for _, id := range subjects {
			all = append(all, Violation{SubjectID: id, Rule: rule.violation})
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
