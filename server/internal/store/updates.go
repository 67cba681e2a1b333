package store

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// updateSlots bounds the groups of updates that are committed concurrently. maxUpdateGroup bounds the
	// updates of a group.
	updateSlots    = 2
	maxUpdateGroup = 128
)

// update is a change of a subject that waits for its group.
type update struct {
	changeResult

	id          string
	change      func(*studio.Subject) error
	subject     studio.Subject
	span        trace.Span
	updateAlone bool          // the change must be made outside the group
	done        chan struct{} // closed when the result is set
}

func (s *Store) newUpdateQueue() *commitQueue[*update] {
	return &commitQueue[*update]{commit: s.commitUpdates, limit: maxUpdateGroup, slots: make(chan struct{}, updateSlots)}
}

// updateInGroup changes a subject by group commit on PostgreSQL, unless the change must be made alone. On
// SQLite, write does this for every change.
//
// A group locks its subjects with one statement, writes them with one request, and waits for no lock. A
// subject that another transaction has locked, or that another member changes, is changed alone.
func (s *Store) updateInGroup(ctx context.Context, id string, change func(*studio.Subject) error) (changed *update) {
	ctx, span := s.startSpan(ctx, "update in group commit")
	defer span.End()
	u := &update{id: id, change: change, span: span, done: make(chan struct{})}
	if u.err = ctx.Err(); u.err != nil {
		return u
	}
	s.updates.add(u)
	<-u.done
	u.repanic()
	return u
}

// commitUpdates makes the changes of a group. It ignores the contexts of the members, so that none cancels
// the others.
func (s *Store) commitUpdates(group []*update) {
	ctx := groupContext(group[0].span)
	err := s.write(ctx, func(tx transaction) error { return updateAll(ctx, tx, group) })
	for _, u := range group {
		if err != nil {
			u.updateAlone = !errors.Is(err, studio.ErrBusy) // another member may be the cause, or an ID that is not valid text in PostgreSQL
			u.err = err
		}
		close(u.done)
	}
}

// updateAll makes the changes whose subjects it can lock without a wait, and sets updateAlone on the others.
func updateAll(ctx context.Context, tx transaction, group []*update) error {
	members := make(map[string]*update)
	var ids []string
	for _, u := range group {
		u.updateAlone, u.err = true, nil
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
			u.subject, u.updateAlone = subject, false
			found = append(found, u)
		}
		return err
	}, `SELECT `+subjectColumns+` FROM subjects s WHERE s.id = ANY($1) AND s.deleted_at IS NULL ORDER BY s.id`+
		tx.forUpdate()+` OF s SKIP LOCKED`, ids)
	if err != nil {
		return err
	}
	rows := new(updateRows)
	for _, u := range found {
		due := u.subject.RenderAt
		if u.run(func() error { return u.change(&u.subject) }); u.err != nil {
			continue
		}
		if err := rows.add(u.subject, due); err != nil {
			return err
		}
	}
	if len(rows.ids) == 0 {
		return nil
	}
	if _, err := tx.execAll(ctx, append(rows.events.insert(), rows.update())); err != nil {
		return err
	}
	markDue(tx, rows.renderDue, rows.events.flows)
	return nil
}
