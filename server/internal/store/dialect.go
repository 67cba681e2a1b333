package store

import "strings"

// dialect is the SQL in which the databases differ.
type dialect interface {
	// forUpdate returns the SQL that ends a SELECT of rows which the transaction will change.
	forUpdate() string
	// keyShare returns the SQL that ends a SELECT of users to whom rows are added. It waits for a deletion of the user,
	// which waits for the transaction.
	keyShare() string
	// lockSubjects returns the SQL that ends a SELECT of subjects s which the transaction will change. Unless wait is
	// true, the SELECT skips those that another transaction has locked.
	lockSubjects(wait bool) string
	// clock returns the SQL expression for the current time of the database, in microseconds.
	clock() string
	// untilNow returns the SQL expression for a time, or for the current time of the database if that is earlier. So
	// work that is due now is not late if the clock of this process is ahead.
	untilNow(at string) string
	// in returns the SQL condition that a column has one of the values of a query. On PostgreSQL, the planner finds the
	// rows by the index of the column even if its statistics are from a time when the table was empty, as a queue often
	// is.
	in(column, query string) string
	// bytewise returns the SQL expression for a text that is compared by its bytes, whatever the language of the
	// database.
	bytewise(text string) string
	// elements returns the query for the elements of a parameter, which is a JSON array of texts.
	elements(parameter string) string
	// lookup returns the right side of a JOIN with the only row of a table that has a condition, such as "events e". On
	// PostgreSQL, the planner finds the row by an index, for the same reason as in.
	lookup(table, condition string) string
	// locked returns the SQL condition that saveAttempts has locked a subject.
	locked(subjectID string) string
	// forRows returns the statements for the values of rows, from the query for SQLite or that for PostgreSQL.
	forRows(sqlite, postgres string, rows [][]any) []statement
}

// now returns the SQL expression for the time at which the database begins a query, so that the planner can use an
// index.
func now(sql dialect) string { return `(SELECT ` + sql.clock() + `)` }

type sqliteDialect struct{}

func (sqliteDialect) forUpdate() string { return "" } // SQLite has one writer at a time

func (sqliteDialect) keyShare() string { return "" }

func (sqliteDialect) lockSubjects(bool) string { return "" }

func (sqliteDialect) clock() string { return `CAST(unixepoch('subsec') * 1000000 AS INTEGER)` }

func (sqliteDialect) untilNow(at string) string { return at } // SQLite has no clock of its own

func (sqliteDialect) in(column, query string) string { return column + ` IN (` + query + `)` }

func (sqliteDialect) bytewise(text string) string { return text }

func (sqliteDialect) elements(parameter string) string {
	return `SELECT value FROM json_each(` + parameter + `)`
}

func (sqliteDialect) lookup(table, condition string) string { return table + ` ON ` + condition }

func (sqliteDialect) locked(string) string { return "TRUE" }

type postgresDialect struct{}

// forUpdate uses NO KEY, which does not block foreign key checks on the row.
func (postgresDialect) forUpdate() string { return " FOR NO KEY UPDATE" }

// keyShare is the lock of a foreign key check. A deletion changes the email, which is a key.
func (postgresDialect) keyShare() string { return " FOR KEY SHARE" }

func (d postgresDialect) lockSubjects(wait bool) string {
	if wait {
		return d.forUpdate() + " OF s"
	}
	return d.forUpdate() + " OF s SKIP LOCKED"
}

func (postgresDialect) clock() string {
	return `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
}

func (d postgresDialect) untilNow(at string) string {
	return `CASE WHEN ` + at + ` IS NOT NULL THEN LEAST(` + at + `, ` + d.clock() + `) END`
}

// locked is for saveAttempts.
func (postgresDialect) locked(subjectID string) string {
	return subjectID + ` = ANY(` + lockedSubjects + `)`
}

func (postgresDialect) in(column, query string) string {
	return column + ` = ANY(ARRAY(` + query + `))`
}

func (postgresDialect) bytewise(text string) string { return text + ` COLLATE "C"` }

func (postgresDialect) elements(parameter string) string {
	return `SELECT json_array_elements_text(` + parameter + `::text::json)`
}

func (postgresDialect) lookup(table, condition string) string {
	_, alias, _ := strings.Cut(table, " ")
	return `LATERAL (SELECT * FROM ` + table + ` WHERE ` + condition + ` LIMIT 1) ` + alias + ` ON TRUE`
}
