package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// RenderLease is how long a process holds a rendering after the last [Store.RenewRenderings].
const RenderLease = 15 * time.Second

// maxRenderPause is longer than any pause before a rendering is retried.
const maxRenderPause = 2 * time.Minute

// ClaimRenderings claims up to n due renderings for the process with the ID by, and returns their subjects. It
// returns fewer if fewer are due. A claim lasts for [RenderLease]; see [Store.RenewRenderings]. If more are due, each
// claim goes to the user with the fewest running renderings, and among those to the one who has waited the longest
// since the last claim of this process. more reports whether others may be due.
func (s *Store) ClaimRenderings(ctx context.Context, by string, now time.Time, n int) (subjects []studio.Subject, more bool, err error) {
	ctx = withoutSync(ctx) // a daemon that starts releases the claims of the last one
	// Most claims get all that are due, so that no user has to wait for another one.
	err = s.write(ctx, func(tx transaction) (err error) {
		subjects, err = s.claimAll(ctx, tx, by, now, n)
		return err
	})
	if err != nil || len(subjects) > 0 {
		return subjects, false, err
	}
	due, err := exists(ctx, s.engine, `SELECT 1 FROM renderings WHERE due_at <= $1 AND `+claimable(s.engine)+` ORDER BY due_at LIMIT 1`, micros(now))
	if err != nil || !due {
		return nil, false, err
	}
	err = s.write(ctx, func(tx transaction) error {
		var claimed []string
		for len(claimed) < n {
			chosen, err := s.chooseRenderings(ctx, tx, now, n-len(claimed))
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				break
			}
			claims := make([]renderClaim, len(chosen))
			for i, id := range chosen {
				claims[i] = renderClaim{id, by, now}
			}
			ids, err := queryEach(ctx, tx, oneColumn[string], claimChosen.with(tx, claims...)) // other processes may be first
			if err != nil {
				return err
			}
			claimed = append(claimed, ids...)
		}
		more = len(claimed) == n
		subjects, err = queryEach(ctx, tx, subjectDest, findSubjects.with(tx, claimed...))
		return err
	})
	return subjects, more, err
}

// claimAll claims all due renderings, or none if they are more than n. It ends the transaction.
func (s *Store) claimAll(ctx context.Context, tx transaction, by string, now time.Time, n int) (subjects []studio.Subject, err error) {
	due := `WITH due AS MATERIALIZED (
			SELECT subject_id FROM renderings WHERE due_at <= $1 AND ` + claimable(tx) + ` ORDER BY due_at LIMIT $2 + 1
		)`
	claim := claimWhere(tx, "$3", "$1", `WHERE `+tx.in("subject_id", `SELECT subject_id FROM due WHERE (SELECT COUNT(*) FROM due) <= $2`))
	args := []any{micros(now), n, by}
	if !s.Shared() {
		claimed, err := queryRows(ctx, tx, oneColumn[string], due+claim, args...)
		if err != nil {
			return nil, err
		}
		return queryEach(ctx, tx, subjectDest, findSubjects.with(tx, claimed...))
	}
	err = tx.last(ctx, func(scan func(...any) error) error {
		var subject studio.Subject
		err := scan(subjectDest(&subject)...)
		subject.Started = true // the statement does not see its own claims
		subjects = append(subjects, subject)
		return err
	}, statement{due + `, claimed AS (` + claim + `) SELECT ` + subjectColumns + ` FROM subjects s
		WHERE ` + tx.in("s.id", `SELECT subject_id FROM claimed`) + ` AND ` + notDeleted, args})
	return subjects, err
}

// renderClaim is a claim of a due rendering by a process.
type renderClaim struct {
	subjectID, by string
	now           time.Time
}

//nolint:gochecknoglobals // a constant
var claimChosen = newRowStatement(`subject_id text, by text, now bigint`,
	func(c renderClaim) []any { return []any{c.subjectID, c.by, micros(c.now)} },
	func(sql dialect) string {
		return claimWhere(sql, "r.by", "r.now", `FROM r WHERE renderings.subject_id = r.subject_id AND `+
			sql.in("renderings.subject_id", `SELECT r.subject_id FROM r`))
	})

// claimWhere returns the statement that claims the renderings that match a condition, unless another process has
// claimed them. It returns the IDs of their subjects.
func claimWhere(sql dialect, by, now, where string) string {
	return `UPDATE renderings SET process_id = ` + by + `, leased_until = ` + leaseEnd(sql) + ` ` + where +
		` AND due_at <= ` + now + ` AND ` + claimable(sql) + ` RETURNING renderings.subject_id`
}

// waitingUser is a user with due renderings.
type waitingUser struct {
	id      string
	due     []string // the subjects of the first ones
	more    bool     // there may be more
	running int
	turn    int64 // of the last claim by this process
}

// compare compares users by who gets the next claim.
func (u *waitingUser) compare(other *waitingUser) int {
	return cmp.Or(cmp.Compare(u.running, other.running), cmp.Compare(u.turn, other.turn), cmp.Compare(u.id, other.id))
}

// chooseRenderings returns the subjects of up to n due renderings to claim. It may return fewer than are due, but not
// none.
func (s *Store) chooseRenderings(ctx context.Context, tx transaction, now time.Time, n int) (chosen []string, err error) {
	users, err := waitingUsers(ctx, tx, now, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	turns := make(map[string]int64, len(users)) // without users who wait no more
	for _, u := range users {
		u.turn = s.renderTurns[u.id]
		turns[u.id] = u.turn
	}
	s.renderTurns = turns
	for len(users) > 0 && len(chosen) < n {
		next := slices.MinFunc(users, (*waitingUser).compare)
		if len(next.due) == 0 {
			if next.more {
				break
			}
			users = slices.DeleteFunc(users, func(u *waitingUser) bool { return u == next })
			continue
		}
		chosen = append(chosen, next.due[0])
		s.lastTurn++
		next.due, next.running, next.turn = next.due[1:], next.running+1, s.lastTurn
		turns[next.id] = next.turn
	}
	return chosen, err
}

// waitingUsers returns the users with due renderings, each with the first ones, and n in all or more.
func waitingUsers(ctx context.Context, tx transaction, now time.Time, n int) (users []*waitingUser, err error) {
	// The recursive query steps through the index from user to user, so that the cost does not depend on the number of
	// renderings of a user.
	const each = `$2 / (SELECT COUNT(user_id) FROM waiting) + 1`
	err = tx.query(ctx, func(scan func(...any) error) error {
		var u waitingUser
		var due *string
		var limit int
		err := scan(&u.id, &u.running, &due, &limit)
		if due != nil {
			u.due = strings.Split(*due, ",")
			u.more = len(u.due) == limit
			users = append(users, &u)
		}
		return err
	}, `WITH RECURSIVE waiting (user_id) AS (
			SELECT MIN(user_id) FROM renderings
			UNION ALL SELECT (SELECT MIN(user_id) FROM renderings WHERE user_id > w.user_id)
				FROM waiting w WHERE w.user_id IS NOT NULL
		)
		SELECT user_id, (SELECT COUNT(*) FROM renderings WHERE user_id = w.user_id AND process_id IS NOT NULL AND NOT `+claimable(tx)+`),
			(SELECT STRING_AGG(subject_id, ',') FROM (SELECT subject_id FROM renderings
				WHERE user_id = w.user_id AND due_at <= $1 AND `+claimable(tx)+` ORDER BY due_at LIMIT `+each+`) first), `+each+`
		FROM waiting w WHERE user_id IS NOT NULL`, micros(now), n)
	return users, err
}

// claimable returns the SQL condition that no process renders a subject.
func claimable(sql dialect) string {
	return `(process_id IS NULL OR leased_until < ` + sql.clock() + `)`
}

// leaseEnd returns the SQL expression for the end of a render lease that begins now.
func leaseEnd(sql dialect) string {
	return sql.clock() + ` + ` + fmt.Sprint(RenderLease.Microseconds())
}

// RenewRenderings renews the leases of a process on the renderings of subjects, except of those that another
// transaction has locked, and returns the subjects on whose renderings it has a lease. A rendering has none if its
// subject was deleted, or if another process has taken it over.
func (s *Store) RenewRenderings(ctx context.Context, by string, subjectIDs []string) (held []string, err error) {
	err = s.write(withoutSync(ctx), func(tx transaction) error {
		held = nil
		var where conditions
		where.add(tx.in("s.subject_id", where.elements(tx, subjectIDs)))
		where.add("s.process_id = ?", by)
		query := `SELECT s.subject_id FROM renderings s WHERE ` + where.sql
		return tx.last(ctx, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			held = append(held, id)
			return err
		}, statement{
			`UPDATE renderings SET leased_until = ` + leaseEnd(tx) + ` WHERE ` + tx.in("subject_id", query+tx.lockSubjects(false)), where.args,
		}, statement{query, where.args})
	})
	return held, err
}

// ReleaseRendering releases the lease of a process on a rendering, so that any process may claim it.
func (s *Store) ReleaseRendering(ctx context.Context, subjectID, by string) error {
	return s.exec(ctx, `UPDATE renderings SET process_id = NULL WHERE subject_id = $1 AND process_id = $2`, subjectID, by)
}

// ReleaseRenderings releases the leases of a process on all renderings except those that it knows of. It may have
// claimed others without an answer.
func (s *Store) ReleaseRenderings(ctx context.Context, by string, except []string) error {
	var where conditions
	where.add("process_id = ?", by)
	where.add("NOT (" + s.engine.in("subject_id", where.elements(s.engine, except)) + ")")
	return s.exec(ctx, `UPDATE renderings SET process_id = NULL WHERE `+where.sql, where.args...)
}

// HastenRenderings makes the renderings due whose time is later than that of any retry. A clock was ahead when it was
// written, or is set back.
func (s *Store) HastenRenderings(ctx context.Context, now time.Time) error {
	return s.exec(ctx, `UPDATE renderings SET due_at = $1 WHERE due_at > $2`, micros(now), micros(now.Add(maxRenderPause)))
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
	err = queryRow(ctx, s.engine, []any{instant{&at}}, `SELECT MIN(at) FROM (SELECT MIN(due_at) AS at FROM renderings WHERE due_at > (SELECT CAST($1 AS BIGINT))
		UNION ALL SELECT MIN(leased_until) FROM renderings WHERE process_id IS NOT NULL AND leased_until > (SELECT CAST($1 AS BIGINT))) next`, micros(now))
	return at, err
}
