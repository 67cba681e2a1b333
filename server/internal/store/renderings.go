package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// RenderLease is how long a process holds a rendering after the last [Store.RenewRendering].
const RenderLease = 15 * time.Second

// ClaimRenderings claims up to n due renderings for the process with the ID by, and returns their subjects. It
// returns fewer if fewer are due. A claim lasts for [RenderLease]; see [Store.RenewRendering]. Each claim goes to
// the user with the fewest running renderings, and among those to the one who has waited the longest since the
// last claim.
func (s *Store) ClaimRenderings(ctx context.Context, by string, now time.Time, n int) (subjects []studio.Subject, err error) {
	claim := claimRendering
	if s.Shared() {
		claim = claimRenderings
	}
	err = s.write(ctx, func(tx transaction) error {
		subjects = nil
		for len(subjects) < n {
			claimed, due, err := claim(ctx, tx, by, now, n-len(subjects))
			if err != nil || !due {
				return err
			}
			subjects = append(subjects, claimed...) // may be fewer than are due if other processes claim concurrently
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return subjects, nil
}

// claimRendering claims one rendering on SQLite, where statements are cheap. It reports whether one was due.
func claimRendering(ctx context.Context, tx transaction, by string, now time.Time, _ int) (claimed []studio.Subject, due bool, err error) {
	var subjectID, userID string
	err = queryRow(ctx, tx, []any{&subjectID, &userID}, usersWaiting+`, first (user_id, id) AS MATERIALIZED (
			SELECT w.user_id, (SELECT subject_id FROM renderings WHERE user_id = w.user_id
				AND due_at <= $1 AND `+claimable(tx)+` ORDER BY due_at LIMIT 1)
			FROM waiting w WHERE w.user_id IS NOT NULL
		)
		SELECT f.id, f.user_id FROM first f WHERE f.id IS NOT NULL
		ORDER BY `+runningRenderings(tx, "f")+`, (SELECT render_turn FROM users WHERE id = f.user_id), f.id LIMIT 1`, micros(now))
	if errors.Is(err, studio.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	err = tx.execAll(ctx, []statement{
		{`UPDATE renderings SET process_id = $1, leased_until = ` + leaseEnd(tx) + ` WHERE subject_id = $2`, []any{by, subjectID}},
		{`UPDATE users SET render_turn = (SELECT MAX(render_turn) FROM users) + 1 WHERE id = $1`, []any{userID}},
	})
	if err != nil {
		return nil, false, err
	}
	subject, err := subjectByID(ctx, tx, subjectID)
	return []studio.Subject{subject}, true, err
}

// claimRenderings claims up to n renderings with one statement, on PostgreSQL. It chooses the same renderings
// as n calls of claimRendering: each claim counts for its user in the choice of the next. It reports whether
// any rendering was due.
func claimRenderings(ctx context.Context, tx transaction, by string, now time.Time, n int) (claimed []studio.Subject, due bool, err error) {
	chosen, err := queryRows(ctx, tx, oneColumn[*string], usersWaiting+`, turns AS MATERIALIZED (
			SELECT w.user_id, u.render_turn, `+runningRenderings(tx, "w")+` AS running FROM waiting w JOIN users u ON u.id = w.user_id
		), next AS MATERIALIZED (
			SELECT s.id, w.user_id, row_number() OVER (ORDER BY w.running + s.nth, s.nth, w.render_turn, s.id) AS place
			FROM turns w CROSS JOIN LATERAL (SELECT subject_id AS id, row_number() OVER (ORDER BY due_at) AS nth FROM renderings
				WHERE user_id = w.user_id AND due_at <= $2 AND `+claimable(tx)+` ORDER BY due_at LIMIT $3) s
			ORDER BY place LIMIT $3
		), claimed AS (
			UPDATE renderings SET process_id = $1, leased_until = `+leaseEnd(tx)+`
			WHERE `+tx.in("subject_id", "SELECT id FROM next")+` AND due_at <= $2 AND `+claimable(tx)+` RETURNING subject_id
		), turned AS (
			UPDATE users SET render_turn = (SELECT MAX(render_turn) FROM users) + last.place
			FROM (SELECT user_id, MAX(place) AS place FROM next JOIN claimed ON subject_id = id GROUP BY user_id) last WHERE users.id = last.user_id
		)
		SELECT subject_id FROM next LEFT JOIN claimed ON subject_id = id ORDER BY place`, by, micros(now), n)
	due = len(chosen) > 0
	chosen = slices.DeleteFunc(chosen, func(id *string) bool { return id == nil })
	if err != nil || len(chosen) == 0 {
		return nil, due, err
	}
	claimed, err = queryRows(ctx, tx, subjectDest, `SELECT `+subjectColumns+` FROM unnest($1::text[]) WITH ORDINALITY c(id, place) JOIN subjects s ON s.id = c.id ORDER BY c.place`, chosen)
	return claimed, due, err
}

// claimable returns the SQL condition that no process renders a subject.
func claimable(tx transaction) string {
	return `(process_id IS NULL OR leased_until < ` + tx.clock() + `)`
}

// leaseEnd returns the SQL expression for the end of a render lease that begins now.
func leaseEnd(sql dialect) string {
	return sql.clock() + ` + ` + fmt.Sprint(RenderLease.Microseconds())
}

// usersWaiting is the start of a statement: a CTE named waiting with the users who have renderings to do. It
// steps through the index from user to user, so that the cost does not depend on the renderings of a user.
const usersWaiting = `WITH RECURSIVE waiting (user_id) AS (
			SELECT MIN(user_id) FROM renderings
			UNION ALL SELECT (SELECT MIN(user_id) FROM renderings WHERE user_id > w.user_id)
				FROM waiting w WHERE w.user_id IS NOT NULL
		)`

// runningRenderings returns the SQL expression for the number of running renderings of a user.
func runningRenderings(tx transaction, user string) string {
	return `(SELECT COUNT(*) FROM renderings WHERE user_id = ` + user + `.user_id AND process_id IS NOT NULL AND NOT ` + claimable(tx) + `)`
}

// RenewRendering renews the lease of a process on a rendering. It returns [studio.ErrNotFound] if the subject
// was deleted or another process has taken it over.
func (s *Store) RenewRendering(ctx context.Context, subjectID, by string) error {
	return s.execFound(ctx, `UPDATE renderings SET leased_until = `+leaseEnd(s.engine)+` WHERE subject_id = $1 AND process_id = $2`, subjectID, by)
}

// HoldsRendering checks the lease of a process on a rendering without renewing it. It returns the errors of
// [Store.RenewRendering].
func (s *Store) HoldsRendering(ctx context.Context, subjectID, by string) error {
	var found int
	return queryRow(ctx, s.engine, []any{&found}, `SELECT 1 FROM renderings WHERE subject_id = $1 AND process_id = $2`, subjectID, by)
}

// ReleaseRendering releases the lease of a process on a rendering, so that any process may claim it.
func (s *Store) ReleaseRendering(ctx context.Context, subjectID, by string) error {
	return s.exec(ctx, `UPDATE renderings SET process_id = NULL WHERE subject_id = $1 AND process_id = $2`, subjectID, by)
}

// ClockOffset returns how far the clock of the database is ahead of that of this process. It is 0 on SQLite,
// which has no clock of its own.
func (s *Store) ClockOffset(ctx context.Context) (time.Duration, error) {
	if !s.Shared() {
		return 0, nil
	}
	began := time.Now()
	var micros int64
	err := queryRow(ctx, s.engine, []any{&micros}, `SELECT `+s.engine.clock())
	return time.UnixMicro(micros).Sub(began.Add(time.Since(began) / 2)), err
}

// NextRendering returns when the next rendering after now is due, or when the next lease on a running one ends if that
// is earlier. It returns the zero time if there is none.
func (s *Store) NextRendering(ctx context.Context, now time.Time) (at time.Time, err error) {
	err = queryRow(ctx, s.engine, []any{instant{&at}}, `SELECT MIN(at) FROM (SELECT MIN(due_at) AS at FROM renderings WHERE due_at > $1
		UNION ALL SELECT MIN(leased_until) FROM renderings WHERE process_id IS NOT NULL AND leased_until > $1) next`, micros(now))
	return at, err
}
