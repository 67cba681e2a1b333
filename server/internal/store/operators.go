package store

import (
	"context"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

var _ studio.DatabaseStore = (*Store)(nil)

func (s *Store) AddLink(ctx context.Context, link studio.Link) error {
	return s.write(ctx, func(tx transaction) error {
		if link.Purpose == studio.ResetLink {
			if err := lockUser(ctx, tx, `email = $1`, link.Email); err != nil {
				return err
			}
		}
		return tx.execAll(ctx, []statement{
			{`DELETE FROM links WHERE purpose = $1 AND email = $2`, []any{string(link.Purpose), link.Email}},
			{
				`INSERT INTO links (hash, purpose, email, workspace_id, operator, made_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
				[]any{link.Hash, string(link.Purpose), link.Email, nullable(link.WorkspaceID), flag(link.Operator), link.By, micros(link.ExpiresAt)},
			},
		})
	})
}

func (s *Store) Link(ctx context.Context, hash []byte) (link studio.Link, err error) {
	err = queryRow(ctx, s.engine, []any{&link.Hash, &link.Purpose, &link.Email, &link.WorkspaceID, &link.Operator, &link.By, instant{&link.ExpiresAt}},
		`SELECT hash, purpose, email, COALESCE(workspace_id, ''), operator <> 0, made_by, expires_at FROM links WHERE hash = $1`, hash)
	return link, err
}

// ClaimLink also takes a claim that ends later than a new one: the clock was set back.
func (s *Store) ClaimLink(ctx context.Context, hash []byte, now, until time.Time) error {
	return s.execFound(ctx, `UPDATE links SET claimed_until = $3
		WHERE hash = $1 AND (claimed_until IS NULL OR claimed_until <= $2 OR claimed_until > $3)`, hash, micros(now), micros(until))
}

func (s *Store) Join(ctx context.Context, hash []byte, user studio.User, workspace studio.Workspace, session studio.RefreshToken) error {
	return s.write(ctx, func(tx transaction) error {
		if err := takeLink(ctx, tx, hash); err != nil {
			return err
		}
		all := []statement{insertUser(user)}
		if !workspace.CreatedAt.IsZero() {
			all = append(all, insertWorkspace(workspace))
		}
		if workspace.ID != "" {
			all = append(all, insertMember(workspace.ID, user.ID))
		}
		return tx.execAll(ctx, append(all, insertSession(session)...))
	})
}

func (s *Store) ResetPassword(ctx context.Context, hash []byte, userID, passwordHash string, session studio.RefreshToken, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		if err := takeLink(ctx, tx, hash); err != nil {
			return err
		}
		return setPassword(ctx, tx, userID, "", passwordHash, session, now)
	})
}

// takeLink deletes a link. Of concurrent transactions, one succeeds.
func takeLink(ctx context.Context, tx transaction, hash []byte) error {
	return execFound(ctx, tx, `DELETE FROM links WHERE hash = $1`, hash)
}

func (s *Store) SetDisabled(ctx context.Context, userID string, at, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		if !at.IsZero() {
			if err := keepOperator(ctx, tx, userID); err != nil {
				return err
			}
		}
		err := execFound(ctx, tx, `UPDATE users SET disabled_at = $2 WHERE id = $1 AND deleted_at IS NULL`, userID, micros(at))
		if err != nil || at.IsZero() {
			return err
		}
		return revokeTokens(ctx, tx, userID, now, deleteLinksOf(userID))
	})
}

// operatorsQuery returns the ids of the operators who are not disabled.
const operatorsQuery = `SELECT id FROM users WHERE role = 'operator' AND deleted_at IS NULL AND disabled_at IS NULL`

func (s *Store) HasOperator(ctx context.Context) (bool, error) {
	return exists(ctx, s.engine, operatorsQuery+` LIMIT 1`)
}

// deleteLinksOf returns the statement that deletes the links which an operator has made.
func deleteLinksOf(userID string) statement {
	return statement{`DELETE FROM links WHERE made_by = $1`, []any{userID}}
}

// lockOperators locks the operators who are not disabled until the end of the transaction, and returns their ids.
func lockOperators(ctx context.Context, tx transaction) (ids []string, err error) {
	return queryRows(ctx, tx, oneColumn[string], operatorsQuery+` ORDER BY id`+tx.forUpdate())
}

// keepOperator returns [studio.ErrLastOperator] if a user is the only operator who is not disabled. It locks the
// operators, so that they cannot remove each other at the same time.
func keepOperator(ctx context.Context, tx transaction, userID string) error {
	operators, err := lockOperators(ctx, tx)
	if err == nil && slices.Equal(operators, []string{userID}) {
		err = studio.ErrLastOperator
	}
	return err
}

func (s *Store) AddAct(ctx context.Context, act studio.Act) error {
	return s.write(s.WithAct(ctx, act), func(transaction) error { return nil })
}

// actKey is the key of the act in a context of [Store.WithAct].
type actKey struct{}

func (s *Store) WithAct(ctx context.Context, act studio.Act) context.Context {
	return context.WithValue(ctx, actKey{}, act)
}

// addAct adds the act of a context, if it has one. An operator who acts stays one until the end of the transaction.
func addAct(ctx context.Context, tx transaction) error {
	act, ok := ctx.Value(actKey{}).(studio.Act)
	if !ok {
		return nil
	}
	if act.OperatorID != "" {
		operators, err := lockOperators(ctx, tx)
		if err == nil && !slices.Contains(operators, act.OperatorID) {
			err = studio.ErrNotFound
		}
		if err != nil {
			return err
		}
	}
	_, err := tx.exec(ctx, `INSERT INTO acts (id, at, done_by, action, target) VALUES ($1, $2, $3, $4, $5)`,
		act.ID, micros(act.At), act.By, act.Action, act.Target)
	return err
}

func (s *Store) Acts(ctx context.Context, below string, limit int) ([]studio.Act, error) {
	where := conditions{args: []any{limit}}
	where.filter(`id < ?`, below)
	return queryRows(ctx, s.engine, func(a *studio.Act) []any {
		return []any{&a.ID, instant{&a.At}, &a.By, &a.Action, &a.Target}
	}, `SELECT id, at, done_by, action, target FROM acts`+where.where()+` ORDER BY id DESC `+limitTo("$1"), where.args...)
}

// flag returns a condition as the databases store it.
func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}
