package store

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// rowStatement is a statement for rows of type T. It is written once for both databases, as a statement that reads its
// rows "FROM r" and their values as "r.NAME". On PostgreSQL it runs once for any number of rows, where r is a function
// of arrays, in subqueries: otherwise the planner would see how few they are, and plan each execution. On SQLite, where statements are cheap, it runs for each row, with parameters instead of r.
type rowStatement[T any] struct {
	sqlite, postgres string
	values           func(T) []any
}

// newRowStatement returns a statement. columns are those of r with their types on PostgreSQL, such as
// "id text, at bigint". values returns the values of a row, in this order.
func newRowStatement[T any](columns string, values func(T) []any, query func(sql dialect, columns []string) string) rowStatement[T] {
	var names, arrays []string
	for i, column := range strings.Split(columns, ",") {
		name, kind, _ := strings.Cut(strings.TrimSpace(column), " ")
		names, arrays = append(names, name), append(arrays, fmt.Sprintf("(SELECT $%d::%s[])", i+1, kind))
	}
	r := "FROM unnest(" + strings.Join(arrays, ", ") + ") r (" + strings.Join(names, ", ") + ")"
	parameter := func(value string) string {
		return fmt.Sprintf("$%d", slices.Index(names, strings.TrimPrefix(value, "r."))+1)
	}
	sqlite := fromRows.ReplaceAllStringFunc(query(sqliteDialect{}, names), func(from string) string {
		if from == "FROM r" {
			return ""
		}
		return "FROM"
	})
	return rowStatement[T]{
		sqlite: rowValue.ReplaceAllStringFunc(sqlite, parameter),
		postgres: fromRows.ReplaceAllStringFunc(query(postgresDialect{}, names), func(from string) string {
			return r + strings.TrimPrefix(from, "FROM r")
		}),
		values: values,
	}
}

// fromRows matches r in a FROM, and what is before the next table. rowValue matches a value of r.
var (
	fromRows = regexp.MustCompile(`\bFROM r\b(, LATERAL\b|,)?`)
	rowValue = regexp.MustCompile(`\br\.\w+`)
)

// insertInto returns a statement that inserts rows into a table. due are the columns with times at which work is due.
func insertInto(table string, due ...string) func(sql dialect, columns []string) string {
	return func(sql dialect, columns []string) string {
		values := make([]string, len(columns))
		for i, name := range columns {
			if values[i] = "r." + name; slices.Contains(due, name) {
				values[i] = sql.past(values[i])
			}
		}
		return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM r WHERE TRUE"
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
