package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// updateTurns is how many groups of updates are committed at once, and updateGroup how many updates a
	// group may have.
	updateTurns = 2
	updateGroup = 128
)

// updates commits changes of subjects while others commit together. It is for PostgreSQL; on SQLite
// every change is committed so.
//
// A group locks its subjects with one statement, writes them with one request, and waits for nobody: a
// subject that another transaction has locked, or another member changes, is changed alone.
type updates struct {
	turns chan struct{}

	mu      sync.Mutex
	waiting []*update
}

// update is a change that waits.
type update struct {
	id       string
	change   func(*studio.Subject) error
	subject  studio.Subject
	err      error
	panicked any
	alone    bool          // it must be made alone
	done     chan struct{} // closed when the others are known
}

func (u *update) run() {
	defer func() {
		if u.panicked = recover(); u.panicked != nil {
			u.err = sql.ErrTxDone
		}
	}()
	u.err = u.change(&u.subject)
}

func newUpdates() *updates { return &updates{turns: make(chan struct{}, updateTurns)} }

// write changes a subject with those that wait too, unless it must be changed alone.
func (q *updates) write(ctx context.Context, s *Store, id string, change func(*studio.Subject) error) (changed *update) {
	u := &update{id: id, change: change, done: make(chan struct{})}
	if u.err = ctx.Err(); u.err != nil {
		return u
	}
	q.mu.Lock()
	q.waiting = append(q.waiting, u)
	q.mu.Unlock()
	for {
		select {
		case <-u.done:
			if u.panicked != nil {
				panic(u.panicked) // in the goroutine that the change belongs to
			}
			return u
		default:
		}
		select {
		case <-u.done:
		case q.turns <- struct{}{}:
			q.writeGroup(ctx, s) // in which this one need not be
			<-q.turns
		}
	}
}

func (q *updates) take() []*update {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), updateGroup)
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// writeGroup makes some of the changes that wait. No member may end that for the others.
func (q *updates) writeGroup(ctx context.Context, s *Store) {
	group := q.take()
	if len(group) == 0 {
		return
	}
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), answerTimeout, errNoAnswer)
	defer cancel()
	err := s.write(limited, func(tx transaction) error { return updateAll(limited, tx, group) })
	for _, u := range group {
		if err != nil {
			u.alone = !errors.Is(err, studio.ErrBusy) // another may be why, or an id that is no text of PostgreSQL's
			u.err = err
		}
		close(u.done)
	}
}

// updateAll makes the changes of a group that wait for nothing, and says which do.
func updateAll(ctx context.Context, tx transaction, group []*update) error {
	members := make(map[string]*update)
	var ids []string
	for _, u := range group {
		u.alone, u.err = true, nil
		if members[u.id] == nil {
			members[u.id] = u
			ids = append(ids, u.id)
		}
	}
	var found []*update
	err := tx.query(ctx, func(scan func(...any) error) error {
		subject, err := scanSubject(scan)
		if err == nil {
			u := members[subject.ID]
			u.subject, u.alone = subject, false
			found = append(found, u)
		}
		return err
	}, `SELECT `+subjectColumns+` FROM subjects s WHERE s.id = ANY($1) AND s.deleted_at IS NULL ORDER BY s.id`+
		tx.forUpdate()+` OF s SKIP LOCKED`, ids)
	if err != nil {
		return err
	}
	var statements []statement
	for _, u := range found {
		due := u.subject.RenderAt
		if u.run(); u.err != nil {
			continue
		}
		changes, err := updateSubject(tx, u.subject, due)
		if err != nil {
			return err
		}
		statements = append(statements, changes...)
	}
	if len(statements) == 0 {
		return nil
	}
	_, err = tx.execAll(ctx, statements)
	return err
}
