package store

import (
	"context"
	"database/sql"
	"sync"
)

// statements caches the prepared statements of a pool, because SQLite takes longer to parse most statements
// than to run them. The cache has no limit: it contains only statements of this package. The statements are
// closed with the pool. It is safe for concurrent use.
type statements struct {
	db *sql.DB

	mu       sync.Mutex
	prepared map[string]*sql.Stmt
	missing  map[string]struct{}
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, prepared: make(map[string]*sql.Stmt), missing: make(map[string]struct{})}
}

// get returns a prepared statement. It prepares the statement if it is new.
func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if statement := s.prepared[query]; statement != nil {
		return statement, nil
	}
	statement, err := s.db.PrepareContext(ctx, orFail(query)) //nolint:sqlclosecheck // the statement stays prepared
	if err == nil {
		s.prepared[query] = statement
	}
	return statement, err
}

// find returns a prepared statement, or nil if it is new. prepareMissing prepares new statements later,
// because a transaction that uses the only connection cannot wait for that.
func (s *statements) find(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	statement := s.prepared[query]
	if statement == nil {
		s.missing[query] = struct{}{}
	}
	return statement
}

// prepareMissing prepares the statements that find did not find.
func (s *statements) prepareMissing(ctx context.Context) {
	s.mu.Lock()
	wanted := s.missing
	s.missing = make(map[string]struct{})
	s.mu.Unlock()
	for query := range wanted {
		_, _ = s.get(ctx, query) //nolint:sqlclosecheck // after an error the statement stays unprepared
	}
}
