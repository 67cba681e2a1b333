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
