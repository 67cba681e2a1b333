package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// limitTo returns the LIMIT of a query to a parameter. For the parameter alone, SQLite would plan the query again for
// each value that is bound to it.
func limitTo(parameter string) string { return `LIMIT ` + parameter + ` + 0` }

// queryRows returns the rows of a query. dest returns where the columns of a row are stored.
func queryRows[T any](ctx context.Context, q querier, dest func(row *T) []any, query string, args ...any) (all []T, err error) {
	err = q.query(ctx, func(scan func(...any) error) error {
		var row T
		err := scan(dest(&row)...)
		all = append(all, row)
		return err
	}, query, args...)
	return all, err
}

// queryMap returns the second column of the rows by the first. dest returns where it is stored.
func queryMap[T any](ctx context.Context, q querier, dest func(row *T) any, query string, args ...any) (map[string]T, error) {
	all := make(map[string]T)
	err := q.query(ctx, func(scan func(...any) error) error {
		var key string
		var row T
		err := scan(&key, dest(&row))
		all[key] = row
		return err
	}, query, args...)
	return all, err
}

// queryEach returns the rows of several queries.
func queryEach[T any](ctx context.Context, q querier, dest func(row *T) []any, queries []statement) (all []T, err error) {
	for _, one := range queries {
		rows, err := queryRows(ctx, q, dest, one.query, one.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// oneColumn is a dest of queryRows for rows that are a single value.
func oneColumn[T any](value *T) []any { return []any{value} }

// queryRow scans the only row of a query. It returns studio.ErrNotFound if there is none.
func queryRow(ctx context.Context, q querier, dest []any, query string, args ...any) error {
	found := false
	err := q.query(ctx, func(scan func(...any) error) error {
		found = true
		return scan(dest...)
	}, query, args...)
	if err == nil && !found {
		return studio.ErrNotFound
	}
	return err
}

// exists reports whether a query returns a row.
func exists(ctx context.Context, q querier, query string, args ...any) (found bool, err error) {
	err = q.query(ctx, func(func(...any) error) error {
		found = true
		return nil
	}, query, args...)
	return found, err
}

// orZero ignores studio.ErrNotFound, for a row whose values are zero if it is missing.
func orZero(err error) error {
	if errors.Is(err, studio.ErrNotFound) {
		return nil
	}
	return err
}

// micros converts a time to its stored form, in microseconds. The zero time is stored as NULL.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// instant is a sql.Scanner for times that micros stored.
type instant struct{ time *time.Time }

func oneInstant(at *time.Time) any { return instant{at} }

func (i instant) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*i.time = time.Time{}
	case int64:
		*i.time = time.UnixMicro(value).UTC()
	default:
		return fmt.Errorf("store: a time is stored as %T", value)
	}
	return nil
}

// interval is a sql.Scanner for durations, which are stored in microseconds.
type interval struct{ duration *time.Duration }

func (i interval) Scan(value any) error {
	microseconds, ok := value.(int64)
	if !ok {
		return fmt.Errorf("store: a duration is stored as %T", value)
	}
	*i.duration = time.Duration(microseconds) * time.Microsecond
	return nil
}

// jsonText is a sql.Scanner for values that are stored as JSON.
type jsonText struct{ value any }

func (t jsonText) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("store: JSON is stored as %T", value)
	}
	return json.Unmarshal([]byte(text), t.value)
}

// exec executes a statement in a transaction.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.execAll(ctx, []statement{{query, args}})
}

// execFound is exec for a statement that changes a row. It returns studio.ErrNotFound if there is none.
func (s *Store) execFound(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx transaction) error { return execFound(ctx, tx, query, args...) })
}

func execFound(ctx context.Context, tx transaction, query string, args ...any) error {
	rows, err := tx.exec(ctx, query, args...)
	if err == nil && rows == 0 {
		err = studio.ErrNotFound
	}
	return err
}

// execAll executes several statements in a transaction.
func (s *Store) execAll(ctx context.Context, all []statement) error {
	if len(all) == 0 {
		return nil
	}
	return s.write(ctx, func(tx transaction) error { return tx.execAll(ctx, all) })
}
