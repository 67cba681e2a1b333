package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// group commits the changes that come while a commit is running together in the next one. What a
// commit costs is mostly the wait for the disk, so many callers share it; one alone waits for
// nobody. A group is no larger than the number of callers, which the server and the workers limit.
type group struct {
	turn chan struct{} // held by who commits

	mu      sync.Mutex
	waiting []*member
}

// member is one change of a group. It sees what those before it changed, and its error undoes it
// alone.
type member struct {
	change   func(tx transaction) error
	ctx      context.Context //nolint:containedctx // of the call that waits for the member
	tx       *sqliteTransaction
	err      error
	panicked any
	done     chan struct{}
}

func newGroup() group { return group{turn: make(chan struct{}, 1)} }

func (e *sqlite) write(ctx context.Context, due func(lines []Line), change func(transaction) error) error {
	m := &member{change: change, ctx: ctx, done: make(chan struct{})}
	if e.group.join(m) {
		e.group.turn <- struct{}{}
		whole := context.WithoutCancel(ctx) // no member may end it for the others
		e.commit(whole, e.group.take())
		e.statements.prepareWanted(whole)
		<-e.group.turn
	}
	<-m.done
	if m.panicked != nil {
		panic(m.panicked) // in the goroutine that the change belongs to
	}
	if m.err == nil && m.tx.due {
		due(m.tx.lines)
	}
	return m.err
}

// join adds a member to the group that waits; the first one commits for all.
func (g *group) join(m *member) (first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, m)
	return len(g.waiting) == 1
}

func (g *group) take() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	members := g.waiting
	g.waiting = nil
	return members
}

// commit runs the changes of all members in one transaction.
func (e *sqlite) commit(ctx context.Context, members []*member) {
	err := e.together(ctx, members)
	for _, m := range members {
		if m.err == nil {
			m.err = err
		}
		close(m.done)
	}
}

func (e *sqlite) together(ctx context.Context, members []*member) error {
	if err := e.there(); err != nil {
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
		if len(members) == 1 {
			if m.run(); m.err != nil {
				return m.err
			}
			continue
		}
		if _, err := m.tx.exec(ctx, "SAVEPOINT member"); err != nil {
			return err
		}
		if m.run(); m.err != nil {
			// Fails when what went wrong has undone the whole transaction, a full disk for instance.
			if _, err := m.tx.exec(ctx, "ROLLBACK TO member"); err != nil {
				return err
			}
		}
		if _, err := m.tx.exec(ctx, "RELEASE member"); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return e.there() // or nobody can read what is acknowledged
}

func (m *member) run() {
	defer func() {
		if m.panicked = recover(); m.panicked != nil {
			m.err = sql.ErrTxDone
		}
	}()
	m.err = m.change(m.tx)
}

// sqliteTransaction is the part of a member in the transaction. It keeps the end of one caller's
// context from interrupting a statement: SQLite would undo the whole transaction, which others share.
type sqliteTransaction struct {
	tx         *sql.Tx
	statements *statements
	due        bool
	lines      []Line
}

func (t *sqliteTransaction) exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx = context.WithoutCancel(ctx)
	if prepared := t.statements.find(query); prepared != nil {
		return affected(t.tx.StmtContext(ctx, prepared).ExecContext(ctx, args...)) //nolint:sqlclosecheck // the end of tx closes it
	}
	return affected(t.tx.ExecContext(ctx, query, args...))
}

func (t *sqliteTransaction) execAll(ctx context.Context, all []statement) (rows []int64, err error) {
	for _, s := range all {
		n, err := t.exec(ctx, s.query, s.args...)
		if err != nil {
			return nil, err
		}
		rows = append(rows, n)
	}
	return rows, nil
}

func (t *sqliteTransaction) query(
	ctx context.Context, each func(scan func(...any) error) error, query string, args ...any,
) (err error) {
	ctx = context.WithoutCancel(ctx)
	var rows *sql.Rows
	if prepared := t.statements.find(query); prepared != nil {
		rows, err = t.tx.StmtContext(ctx, prepared).QueryContext(ctx, args...) //nolint:sqlclosecheck // the end of tx closes it
	} else {
		rows, err = t.tx.QueryContext(ctx, query, args...)
	}
	if err != nil {
		return err
	}
	return eachRow(rows, each)
}

func (t *sqliteTransaction) forUpdate() string { return "" } // writers take turns

func (t *sqliteTransaction) subjectDue() string { return dueSQLite }

func (t *sqliteTransaction) claim(context.Context, string) (bool, error) { return true, nil }

func (t *sqliteTransaction) deliverDue(line Line) {
	t.due = true
	t.lines = append(t.lines, line)
}

func (t *sqliteTransaction) renderDue(time.Time) { t.due = true }

func (t *sqliteTransaction) clock() string { return `CAST(unixepoch('subsec') * 1000000 AS INTEGER)` }
