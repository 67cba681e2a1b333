package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// groupMember is a change that waits for the commit of its group.
type groupMember struct {
	ctx      context.Context //nolint:containedctx // of the caller
	err      error           // the change is not made
	panicked any
	done     chan struct{} // closed when err and panicked are set
}

// groupChange is a pointer to a struct that embeds groupMember.
type groupChange interface {
	comparable
	member() *groupMember
}

func (m *groupMember) member() *groupMember { return m }

// run runs a change for the caller, which waits in another goroutine. It stores a panic for repanic.
func (m *groupMember) run(change func() error) {
	defer func() {
		if m.panicked = recover(); m.panicked != nil {
			m.err = sql.ErrTxDone
		}
	}()
	m.err = change()
}

// repanic panics in the goroutine of the caller if the change did.
func (m *groupMember) repanic() {
	if m.panicked != nil {
		panic(m.panicked)
	}
}

// groupWrite makes the changes of a group in a transaction. It sets err on the changes that it does not make, which are
// then made alone. If alone is true, the group has one member, which waits for the locks of other transactions.
// Otherwise it waits for none, so that no member delays the others, and a change that is difficult may get any error,
// such as errAlone.
type groupWrite[T groupChange] func(ctx context.Context, tx transaction, group []T, alone bool) error

// errAlone is the error of a change that a group leaves to a transaction of its own.
var errAlone = errors.New("store: the change must be made alone")

// maxGroup bounds the changes of a group.
const maxGroup = 128

// newGroupQueue returns the queue of writeGrouped for changes that write makes.
func newGroupQueue[T groupChange](s *Store, write groupWrite[T]) *commitQueue[T] {
	return &commitQueue[T]{commit: func(group []T) { commitGroup(s, group, write) }}
}

// writeGrouped makes a change by group commit, and alone if its group did not make it, unless the database is
// unavailable, or if its context has an act, which belongs to its transaction. On SQLite, Store.write groups all
// changes.
func writeGrouped[T groupChange](ctx context.Context, s *Store, queue *commitQueue[T], write groupWrite[T], change T) error {
	m := change.member()
	if s.Shared() && ctx.Value(actKey{}) == nil {
		if err := waitForGroup(ctx, s, queue, change); err == nil || errors.Is(err, studio.ErrBusy) {
			return err
		}
	}
	err := s.write(ctx, func(tx transaction) error {
		m.err = nil
		if err := write(ctx, tx, []T{change}, true); err != nil {
			return err
		}
		return m.err
	})
	m.repanic()
	return err
}

// waitForGroup queues a change and waits for the commit of its group. It gives up if the group does not begin within
// acquireTimeout, or before ctx ends.
func waitForGroup[T groupChange](ctx context.Context, s *Store, queue *commitQueue[T], change T) error {
	m := change.member()
	ctx, span := s.startSpan(ctx, "group commit")
	defer span.End()
	ctx, cancel := context.WithTimeoutCause(ctx, acquireTimeout, errNoConnection)
	defer cancel()
	if ctx.Err() != nil {
		return s.domainError(context.Cause(ctx))
	}
	m.ctx, m.done = ctx, make(chan struct{})
	queue.add(change)
	select {
	case <-m.done:
	case <-ctx.Done():
		if queue.remove(change) {
			return s.domainError(context.Cause(ctx))
		}
		<-m.done
	}
	m.repanic()
	return m.err
}

// commitGroup makes the changes of a group in one transaction. It ignores the contexts of the members, so that none
// cancels the others.
func commitGroup[T groupChange](s *Store, group []T, write groupWrite[T]) {
	ctx := context.WithoutCancel(group[0].member().ctx)
	err := s.write(ctx, func(tx transaction) error {
		for _, change := range group {
			change.member().err = nil
		}
		return write(ctx, tx, group, false)
	})
	for _, change := range group {
		m := change.member()
		if err != nil {
			m.err = err // another member may be the cause
		}
		close(m.done)
	}
}
