package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// rowStatement is a statement for rows of type T, which it reads from a table r. On PostgreSQL it runs once for any
// number of rows. On SQLite, where statements are cheap, it runs for each row.
type rowStatement[T any] struct {
	sqlite, postgres string
	values           func(T) []any
}

// newRowStatement returns a statement. columns are those of r with their types on PostgreSQL, such as
// "id text, at bigint". values returns the values of a row, in this order. query may begin with a comma and a further
// table, such as ", gone AS (…)".
func newRowStatement[T any](columns string, values func(T) []any, query func(sql dialect) string) rowStatement[T] {
	names := columnNames(columns)
	parameters, arrays := make([]string, len(names)), make([]string, len(names))
	for i, column := range strings.Split(columns, ",") {
		_, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		// Without the subquery, the planner of PostgreSQL would see how few rows there are, and plan each execution.
		parameters[i], arrays[i] = fmt.Sprint("$", i+1), fmt.Sprintf("(SELECT $%d::%s[])", i+1, kind)
	}
	table := "WITH r (" + strings.Join(names, ", ") + ") AS NOT MATERIALIZED (SELECT "
	return rowStatement[T]{
		sqlite:   table + strings.Join(parameters, ", ") + ") " + query(sqliteRow{}),
		postgres: table + "* FROM unnest(" + strings.Join(arrays, ", ") + ")) " + query(postgresDialect{}),
		values:   values,
	}
}

// sqliteRow is the dialect of a statement on SQLite in which r has one row.
type sqliteRow struct{ sqliteDialect }

// in needs no table of values, as IN does.
func (sqliteRow) in(column, query string) string { return column + ` = (` + query + `)` }

// columnNames returns the names of columns with types.
func columnNames(columns string) []string {
	names := strings.Split(columns, ",")
	for i, column := range names {
		names[i], _, _ = strings.Cut(strings.TrimSpace(column), " ")
	}
	return names
}

// insertInto returns a statement that inserts rows with columns into a table. due are the columns with times at which
// work is due.
func insertInto(table, columns string, due ...string) func(sql dialect) string {
	names := columnNames(columns)
	return func(sql dialect) string {
		values := make([]string, len(names))
		for i, name := range names {
			if values[i] = "r." + name; slices.Contains(due, name) {
				values[i] = sql.untilNow(values[i])
			}
		}
		return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM r"
	}
}

// with returns the statements for rows.
func (s rowStatement[T]) with(sql dialect, rows ...T) []statement {
	if len(rows) == 0 {
		return nil
	}
	values := make([][]any, len(rows))
	for i, row := range rows {
		values[i] = s.values(row)
	}
	return sql.forRows(s.sqlite, s.postgres, values)
}

func (sqliteDialect) forRows(query, _ string, rows [][]any) []statement {
	statements := make([]statement, len(rows))
	for i, row := range rows {
		statements[i] = statement{query, row}
	}
	return statements
}

func (postgresDialect) forRows(_, query string, rows [][]any) []statement {
	columns := make([]any, len(rows[0]))
	for i := range columns {
		columns[i] = column{rows, i}
	}
	return []statement{{query, columns}}
}

// column is a column of rows, as an array for PostgreSQL.
type column struct {
	rows  [][]any
	index int
}

var _ pgtype.ArrayGetter = column{}

func (c column) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(c.rows)), LowerBound: 1}} //nolint:gosec // the size of a group
}

func (c column) Index(i int) any { return c.rows[i][c.index] }

func (c column) IndexType() any { return nil } // each value has its own
