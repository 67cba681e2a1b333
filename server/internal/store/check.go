package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// checkPage is how many subjects a query checks, so that it ends long before the deadline of a response.
const checkPage = 5000

// subjectPage is the subjects that the queries of a check read. Its method of returns the SQL condition that the
// subject with an ID is one of them. kept is the time, in microseconds, before which events may have been pruned.
type subjectPage struct {
	last bool // to the end, instead of to $2
	kept int64
}

func (p subjectPage) of(id string) string {
	if p.last {
		return id + ` > $1 AND $2 = ''`
	}
	return id + ` > $1 AND ` + id + ` <= $2`
}

// rules are the invariants of every database: queries for the subjects that violate them, and the violation in words.
// NOT IN with a query takes quadratic time on PostgreSQL if its rows exceed work_mem.
//
//nolint:gochecknoglobals // a table
var rules = []struct {
	violation string
	query     func(p subjectPage) string
}{
	{"does not wait for the delivery of its first pending event", func(p subjectPage) string {
		return `SELECT subject_id FROM (SELECT subject_id, MIN(sequence) AS sequence FROM events WHERE state = 'pending' AND ` + p.of("subject_id") + `
				GROUP BY subject_id) first WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subject_id = first.subject_id AND d.sequence = first.sequence)
			UNION SELECT subject_id FROM deliveries d WHERE ` + p.of("subject_id") + `
				AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = d.subject_id AND e.state = 'pending')`
	}},
	{"has a gap in the sequence of its events", func(p subjectPage) string {
		return `SELECT s.id FROM subjects s LEFT JOIN events e ON e.subject_id = s.id WHERE s.created_at > ` + fmt.Sprint(p.kept) + ` AND ` + p.of("s.id") + `
			GROUP BY s.id, s.sequence HAVING COUNT(e.id) <> s.sequence OR COALESCE(MAX(e.sequence), 0) <> s.sequence`
	}},
	{"has an event whose end contradicts its state", func(p subjectPage) string {
		return `SELECT subject_id FROM events WHERE ` + p.of("subject_id") + `
			AND ((state = 'pending') <> (ended_at IS NULL) OR (state = 'exhausted') <> (reason <> ''))`
	}},
	{"has events but does not exist", func(p subjectPage) string {
		return `SELECT DISTINCT subject_id FROM events e WHERE ` + p.of("subject_id") + ` AND NOT EXISTS (SELECT 1 FROM subjects s WHERE s.id = e.subject_id)`
	}},
	{"belongs to a deleted user, and no task erases it", func(p subjectPage) string {
		return `SELECT s.id FROM subjects s JOIN users u ON u.id = s.user_id WHERE ` + p.of("s.id") + ` AND u.deleted_at IS NOT NULL
			AND s.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = u.id)`
	}},
	{"has an event at the position of another one", func(p subjectPage) string {
		return `SELECT e.subject_id FROM events e JOIN events o ON o.user_id = e.user_id AND o.created_at = e.created_at AND o.id <> e.id
			WHERE ` + p.of("e.subject_id")
	}},
	{"has an event whose attempts are numbered with gaps, or fewer than it counts", func(p subjectPage) string {
		return `SELECT e.subject_id FROM events e LEFT JOIN attempts a ON a.event_id = e.id WHERE ` + p.of("e.subject_id") + `
			GROUP BY e.id, e.subject_id, e.tries, e.last_number HAVING e.last_number < e.tries OR COUNT(a.number) <> COALESCE(MAX(a.number), 0)
				OR COUNT(a.number) <> e.last_number - CASE WHEN e.last_number > 0 THEN 1 ELSE 0 END`
	}},
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
	return s.check(ctx, checkPage)
}

// check is Check with pages of some subjects.
func (s *Store) check(ctx context.Context, rows int) (all []Violation, err error) {
	page := subjectPage{kept: time.Now().Add(-studio.Retention).UnixMicro()}
	for from := ""; !page.last; {
		to := ""
		err := queryRow(ctx, s.engine, []any{&to}, `SELECT MAX(id) FROM (SELECT id FROM subjects WHERE id > $1 ORDER BY id `+limitTo("$2")+`) page
			HAVING COUNT(*) = $2`, from, rows)
		if page.last = errors.Is(err, studio.ErrNotFound); err != nil && !page.last {
			return all, err
		}
		for _, rule := range rules {
			subjects, err := queryRows(ctx, s.engine, oneColumn[string], rule.query(page), from, to)
			for _, id := range subjects {
				all = append(all, Violation{SubjectID: id, Rule: rule.violation})
			}
			if err != nil {
				return all, err
			}
		}
		from = to
	}
	return all, nil
}
