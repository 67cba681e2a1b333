package store

import (
	"context"
	"database/sql"
	"testing"
)

// Pragma returns a pragma of every connection that a pool can have.
func (s *Store) Pragma(t *testing.T, pool, name string) []string {
	t.Helper()
	db := s.engine.(*sqlite).writer
	if pool == "readers" {
		db = s.engine.(*sqlite).readers
	}
	var values []string
	var connections []*sql.Conn
	for range db.Stats().MaxOpenConnections {
		connection, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, connection)
		var value string
		if err := connection.QueryRowContext(context.Background(), "PRAGMA "+name).Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	for _, connection := range connections {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}
	return values
}

// Setting returns a setting of PostgreSQL's on a connection of the pool.
func (s *Store) Setting(t *testing.T, name string) (value string) {
	t.Helper()
	if err := one(t.Context(), s.engine, []any{&value}, `SELECT current_setting($1)`, name); err != nil {
		t.Fatal(err)
	}
	return value
}

// MaxConnections returns how many connections the pool can have.
func (s *Store) MaxConnections() int { return int(s.engine.(*postgres).pool.Config().MaxConns) }
