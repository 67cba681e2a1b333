package store

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// recordTurns is how many groups of records are committed at once.
	recordTurns = 4
	// recordGroup is how many records a group may have.
	recordGroup   = 64
	recordTimeout = 10 * time.Second
)

// records commits what comes while others commit together. It is for PostgreSQL, which waits for
// the disk at every commit; on SQLite every change is committed so.
type records struct {
	turns chan struct{}

	mu      sync.Mutex
	waiting []*record
}

// record is what is written after an attempt.
type record struct {
	subjectID  string
	statements []statement
	after      func(ctx context.Context, tx transaction, rows []int64) error
	err        error
	done       chan struct{} // closed when err is known
}

func newRecords() *records { return &records{turns: make(chan struct{}, recordTurns)} }

func (r *records) take() []*record {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), recordGroup)
	taken := slices.Clone(r.waiting[:n])
	r.waiting = slices.Delete(r.waiting, 0, n)
	return taken
}

// writeRecord writes a record with those that wait too, and alone if that fails.
func (s *Store) writeRecord(ctx context.Context, one *record) error {
	if s.Pool() == nil {
		return s.writeRecords(ctx, one)
	}
	one.done = make(chan struct{})
	s.records.mu.Lock()
	s.records.waiting = append(s.records.waiting, one)
	s.records.mu.Unlock()
	for known := false; !known; {
		select {
		case s.records.turns <- struct{}{}:
			s.writeGroup(ctx) // in which this one need not be
			<-s.records.turns
		case <-one.done:
			known = true
		}
	}
	if one.err != nil {
		return s.writeRecords(ctx, one)
	}
	return nil
}

// writeGroup writes some that wait. No member may end that for the others.
func (s *Store) writeGroup(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	group := s.records.take()
	err := s.writeRecords(ctx, group...)
	for _, member := range group {
		member.err = err
		close(member.done)
	}
}

func (s *Store) writeRecords(ctx context.Context, all ...*record) error {
	if len(all) == 0 {
		return nil
	}
	// Subjects are locked in one order, or two groups would wait for each other.
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.subjectID, b.subjectID) })
	var statements []statement
	for _, one := range all {
		statements = append(statements, one.statements...)
	}
	return s.write(ctx, func(tx transaction) error {
		rows, err := tx.execAll(ctx, statements)
		for _, one := range all {
			if err != nil {
				return err
			}
			n := len(one.statements)
			err = one.after(ctx, tx, rows[:n])
			rows = rows[n:]
		}
		return err
	})
}
