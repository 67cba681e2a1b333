package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// member is one change of a group. It sees the changes of the members before it. Its error rolls back only
// its own change.
type member struct {
	groupMember

	change func(tx transaction) error
	tx     *sqliteTransaction
}

func (e *sqlite) write(ctx context.Context, signal func(marks), change func(transaction) error) error {
	m := &member{groupMember: groupMember{ctx: ctx, done: make(chan struct{})}, change: change}
	e.writes.add(m)
	<-m.done
	m.repanic()
	if m.err == nil {
		signal(m.tx.marks)
	}
	return m.err
}

// commit runs the changes of all members in one transaction and wakes their callers. Most of the cost of a commit is
// the disk sync, which they share.
func (e *sqlite) commit(members []*member) {
	growStack(len(members))
	ctx := context.WithoutCancel(members[0].ctx) // so that no member cancels the others
	err := e.commitMembers(ctx, members)
	e.statements.prepareMissing(ctx)
	for _, m := range members {
		if m.err == nil {
			m.err = err
		}
		close(m.done)
	}
}

// growStack grows the stack of a new goroutine to what SQLite needs. Otherwise it would be copied several times, each
// time with more frames.
//
//go:noinline
func growStack(i int) byte {
	var frame [24 << 10]byte
	return frame[i%len(frame)]
}

// errMemberFailed means that the transaction contains a part of a change that failed.
var errMemberFailed = errors.New("a change failed")

// commitMembers commits the changes of all members. An error is that of the whole group. A savepoint before each change
// would cost a copy of every page that it writes, so there are none until a change fails after it has written.
func (e *sqlite) commitMembers(ctx context.Context, members []*member) error {
	if err := e.checkFiles(); err != nil { // a checkpoint would fill a file that was emptied
		return err
	}
	err := e.runAll(ctx, members)
	// The log may be what fills the disk or a quota, of which SQLite says that it cannot write.
	if code := sqliteCode(err); (code&0xff == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR_WRITE) && e.emptyLog(ctx) {
		err = e.runAll(ctx, members)
	}
	return cmp.Or(e.checkFiles(), err) // a commit to a deleted file must not be acknowledged
}

// runAll is runMembers with savepoints if there must be some.
func (e *sqlite) runAll(ctx context.Context, members []*member) error {
	err := e.runMembers(ctx, members, false)
	if errors.Is(err, errMemberFailed) {
		err = e.runMembers(ctx, members, true)
	}
	return err
}

// runMembers runs the changes of all members in a transaction, and commits. Without savepoints, it returns
// errMemberFailed if a failed change must be rolled back.
func (e *sqlite) runMembers(ctx context.Context, members []*member, savepoints bool) error {
	if err := e.setSync(ctx, slices.ContainsFunc(members, func(m *member) bool { return m.ctx.Value(unsyncedKey{}) == nil })); err != nil {
		return err
	}
	tx, err := e.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for _, m := range members {
		if m.err = m.ctx.Err(); m.err != nil {
			continue
		}
		m.tx = &sqliteTransaction{tx: tx, statements: e.statements}
		change := func() error { return m.change(m.tx) }
		if !savepoints {
			switch m.run(change); {
			case m.err == nil || !m.tx.changed && sqliteCode(m.err) == sqlite3.SQLITE_OK:
				continue
			case len(members) == 1:
				return m.err
			}
			return errMemberFailed
		}
		if _, err := m.tx.exec(ctx, "SAVEPOINT member"); err != nil {
			return err
		}
		if m.run(change); m.err != nil {
			// This fails if the error rolled back the whole transaction, as a full disk does.
			if _, err := m.tx.exec(ctx, "ROLLBACK TO member"); err != nil {
				return m.err
			}
		}
		if _, err := m.tx.exec(ctx, "RELEASE member"); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// unsyncedKey is the key of a mark of the context of a change.
type unsyncedKey struct{}

// withoutSync marks the context of a change that may be lost with the power, because nothing depends on it after the
// process has ended. On SQLite, the commit of a group of such changes does not wait for the disk. As the log is in
// order, the next commit that waits also syncs those before, and no restart finds a change without those before it.
func withoutSync(ctx context.Context) context.Context {
	return context.WithValue(ctx, unsyncedKey{}, true)
}

// setSync sets whether commits wait for the disk.
func (e *sqlite) setSync(ctx context.Context, synced bool) error {
	if e.synced == synced {
		return nil
	}
	e.synced = false // also if this fails
	err := e.pragma(ctx, "synchronous = "+map[bool]string{true: "FULL", false: "NORMAL"}[synced])
	e.synced = synced && err == nil
	return err
}

// sqliteTransaction is the transaction as one member sees it. It ignores the cancellation of the caller's
// context, because an interrupted statement would roll back the transaction of the whole group.
type sqliteTransaction struct {
	marks
	sqliteDialect

	tx         *sql.Tx
	statements *statements
	changed    bool // it may have changed a row
}

func (t *sqliteTransaction) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	ctx = context.WithoutCancel(ctx)
	var result sql.Result
	if prepared := t.statements.find(query); prepared != nil {
		result, err = t.tx.StmtContext(ctx, prepared).ExecContext(ctx, args...) //nolint:sqlclosecheck // the end of tx closes it
	} else {
		result, err = t.tx.ExecContext(ctx, orFail(query), args...)
	}
	if err == nil {
		rows, err = result.RowsAffected()
	}
	t.changed = t.changed || rows > 0 || err != nil
	return rows, err
}

// orFail makes a statement keep what it has changed before it fails, because its member is rolled back. Otherwise
// SQLite would copy each page before it changes it, without a limit. It still copies those of a row that refers to
// another table.
func orFail(query string) string { return changing.ReplaceAllString(query, "$1 OR FAIL$2") }

// changing matches the start of a statement that inserts or updates rows.
var changing = regexp.MustCompile(`\b(INSERT|UPDATE)( INTO \w+| \w+( AS \w+)? SET)\b`)

func (t *sqliteTransaction) execAll(ctx context.Context, all []statement) error {
	for _, s := range all {
		if _, err := t.exec(ctx, s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

func (t *sqliteTransaction) query(ctx context.Context, each rowFunc, query string, args ...any) (err error) {
	ctx = context.WithoutCancel(ctx)
	t.changed = t.changed || !strings.HasPrefix(query, "SELECT")
	var rows *sql.Rows
	if prepared := t.statements.find(query); prepared != nil {
		rows, err = t.tx.StmtContext(ctx, prepared).QueryContext(ctx, args...) //nolint:sqlclosecheck // the end of tx closes it
	} else {
		rows, err = t.tx.QueryContext(ctx, orFail(query), args...)
	}
	if err != nil {
		return err
	}
	return eachRow(rows, each)
}

func (t *sqliteTransaction) last(ctx context.Context, each rowFunc, all ...statement) error {
	if each == nil {
		return t.execAll(ctx, all)
	}
	for _, q := range all {
		if err := t.query(ctx, each, q.query, q.args...); err != nil {
			return err
		}
	}
	return nil
}

func (t *sqliteTransaction) lockAndQuery(ctx context.Context, names []string, each rowFunc, queries ...statement) ([]string, error) {
	return names, t.last(ctx, each, queries...)
}
