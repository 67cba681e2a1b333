package store

import (
	"context"
	"fmt"
	"time"
)

// Work is a kind of work that is done for a subject.
type Work string

// The kinds of work.
const (
	Render  Work = "render"
	Deliver Work = "deliver"
)

// Due is when work on a subject is due.
type Due struct {
	SubjectID string
	At        time.Time
}

// NextDue returns up to limit subjects that have this work before them, the earliest due first.
func (s *Store) NextDue(ctx context.Context, work Work, limit int) ([]Due, error) {
	column := string(work) + "_at"
	return s.queryDue(ctx, fmt.Sprintf(`SELECT id, %s FROM subjects WHERE %[1]s IS NOT NULL ORDER BY %[1]s LIMIT $1`, column), limit)
}

// NextDueAt returns up to limit subjects that have events before them for an origin, the
// earliest due first. It costs the same however many wait.
func (s *Store) NextDueAt(ctx context.Context, origin string, limit int) ([]Due, error) {
	return s.queryDue(ctx, `SELECT id, deliver_at FROM subjects WHERE origin = $1 AND deliver_at IS NOT NULL
		ORDER BY deliver_at LIMIT $2`, origin, limit)
}

func (s *Store) queryDue(ctx context.Context, query string, args ...any) ([]Due, error) {
	var all []Due
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var due Due
		err := scan(&due.SubjectID, instant{&due.At})
		all = append(all, due)
		return err
	}, query, args...)
	return all, err
}

// OriginDue is when the first delivery to an origin is due.
type OriginDue struct {
	Origin string
	At     time.Time
}

// DueOrigins returns every origin that events wait for. It looks once into the index for each
// and not at each event.
func (s *Store) DueOrigins(ctx context.Context) ([]OriginDue, error) {
	var all []OriginDue
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var due OriginDue
		err := scan(&due.Origin, instant{&due.At})
		all = append(all, due)
		return err
	}, `WITH RECURSIVE origins(origin) AS (
			SELECT MIN(origin) FROM subjects WHERE deliver_at IS NOT NULL
			UNION ALL
			SELECT (SELECT MIN(s.origin) FROM subjects s WHERE s.deliver_at IS NOT NULL AND s.origin > o.origin)
			FROM origins o WHERE o.origin IS NOT NULL
		)
		SELECT o.origin, (SELECT MIN(s.deliver_at) FROM subjects s WHERE s.deliver_at IS NOT NULL AND s.origin = o.origin)
		FROM origins o WHERE o.origin IS NOT NULL`)
	return all, err
}
