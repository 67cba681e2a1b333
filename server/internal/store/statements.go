package store

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps what a pool has prepared: SQLite takes longer to parse most statements than to
// run them. The texts are those of this package, so they are few. They are closed with the pool.
//
// A limit is written "LIMIT $1 + 0": a parameter alone makes SQLite plan the statement anew for each
// value that is bound to it.
type statements struct {
	db *sql.DB

	mu       sync.Mutex
	prepared map[string]*sql.Stmt
	wanted   map[string]struct{}
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, prepared: make(map[string]*sql.Stmt), wanted: make(map[string]struct{})}
}

// get returns a statement, preparing it when it is new.
func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if statement := s.prepared[query]; statement != nil {
		return statement, nil
	}
	statement, err := s.db.PrepareContext(ctx, query) //nolint:sqlclosecheck // it stays for the next
	if err == nil {
		s.prepared[query] = statement
	}
	return statement, err
}

// find returns a statement, or nil when it is new; prepareWanted makes it then. A transaction that
// has the only connection cannot wait for that.
func (s *statements) find(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	statement := s.prepared[query]
	if statement == nil {
		s.wanted[query] = struct{}{}
	}
	return statement
}

// prepareWanted prepares what find did not find.
func (s *statements) prepareWanted(ctx context.Context) {
	s.mu.Lock()
	wanted := s.wanted
	s.wanted = make(map[string]struct{})
	s.mu.Unlock()
	for query := range wanted {
		_, _ = s.get(ctx, query) //nolint:sqlclosecheck // after an error it stays unprepared
	}
}
