package store

import (
	"context"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// update is a change of a subject.
type update struct {
	groupMember

	id      string
	change  func(*studio.Subject) error
	subject studio.Subject
}

func (s *Store) UpdateSubject(ctx context.Context, id string, change func(*studio.Subject) error) (studio.Subject, error) {
	u := &update{id: id, change: change}
	err := writeGrouped(ctx, s, s.updates, changeSubjects, u)
	return u.subject, err
}

// findSubjects finds subjects by their IDs.
//
//nolint:gochecknoglobals // a constant
var findSubjects = newRowStatement(`id text`, func(id string) []any { return []any{id} }, func(sql dialect) string {
	return `SELECT ` + subjectColumns + ` FROM subjects s WHERE ` + sql.in("s.id", `SELECT r.id FROM r`) + ` AND ` + notDeleted
})

// changeSubjects is a groupWrite. A change is made alone if its subject is locked, missing, or changed by another
// member.
func changeSubjects(ctx context.Context, tx transaction, group []*update, alone bool) error {
	members := make(map[string]*update)
	var first []*update
	var ids []string
	for _, u := range group {
		u.err = studio.ErrNotFound
		if members[u.id] == nil {
			members[u.id] = u
			first, ids = append(first, u), append(ids, u.id)
		}
	}
	find := findSubjects.with(tx, ids...)[0]
	found, err := queryRows(ctx, tx, subjectDest, find.query+tx.lockSubjects(alone), find.args...)
	if err != nil {
		return err
	}
	for _, subject := range found {
		u := members[subject.ID]
		u.subject, u.err = subject, nil
	}
	var changed, delayed, rendered []*studio.Subject
	for _, u := range first {
		if u.err != nil {
			continue
		}
		due := u.subject.RenderAt
		if u.run(func() error { return u.change(&u.subject) }); u.err != nil {
			continue
		}
		switch {
		case u.subject.RenderAt.Equal(due):
		case u.subject.RenderAt.IsZero():
			rendered = append(rendered, &u.subject)
		default:
			delayed = append(delayed, &u.subject)
			tx.mark(SignalRender, "")
		}
		changed = append(changed, &u.subject)
	}
	return tx.last(ctx, nil, slices.Concat(updateSubjects.with(tx, changed...),
		delayRenderings.with(tx, delayed...), deleteRenderings.with(tx, rendered...), writeEvents(tx, changed))...)
}
