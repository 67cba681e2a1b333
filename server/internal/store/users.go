package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) CreateUser(ctx context.Context, user studio.User) error {
	return s.execAll(ctx, []statement{insertUser(user)})
}

func insertUser(user studio.User) statement {
	return statement{
		`INSERT INTO users (id, email, password_hash, created_at, role) VALUES ($1, $2, $3, $4, $5)`,
		[]any{user.ID, user.Email, user.PasswordHash, micros(user.CreatedAt), string(user.Role)},
	}
}

func (s *Store) UserByEmail(ctx context.Context, email string) (studio.User, error) {
	user := studio.User{Email: email}
	err := queryRow(ctx, s.engine, []any{&user.ID, &user.PasswordHash, instant{&user.CreatedAt}, &user.Role, instant{&user.DisabledAt}},
		`SELECT id, password_hash, created_at, role, disabled_at FROM users WHERE email = $1 AND deleted_at IS NULL`, email)
	return user, err
}

func (s *Store) SetRole(ctx context.Context, userID string, role studio.Role) error {
	return s.write(ctx, func(tx transaction) error {
		if role != studio.Operator {
			if err := keepOperator(ctx, tx, userID); err != nil {
				return err
			}
			if err := tx.execAll(ctx, []statement{deleteLinksOf(userID)}); err != nil {
				return err
			}
		}
		return execFound(ctx, tx, `UPDATE users SET role = $2 WHERE id = $1 AND deleted_at IS NULL`, userID, string(role))
	})
}

// MaxInProgress is the highest count of creations in progress that [Store.Users] returns for a user.
const MaxInProgress = 1000

// Account is the information about a user for operators.
type Account struct {
	ID, Email  string
	CreatedAt  time.Time
	Role       studio.Role
	DisabledAt time.Time
	InProgress int // creations that wait for a rendering or are rendered, up to [MaxInProgress]
}

// UserFilter selects users. A zero field matches every user.
type UserFilter struct {
	Email       string // normalized
	WorkspaceID string // of which the user is a member
}

// Users returns up to limit users that the filter selects, in descending order of ID, which is newest first unless an
// operator chose an ID. It starts below the ID below, or at the highest if below is "".
func (s *Store) Users(ctx context.Context, filter UserFilter, below string, limit int) ([]Account, error) {
	where := conditions{sql: `u.deleted_at IS NULL`, args: []any{limit, MaxInProgress}}
	where.filter(`u.email = ?`, filter.Email)
	where.filter(`u.id IN (SELECT user_id FROM members WHERE workspace_id = ?)`, filter.WorkspaceID)
	where.filter(`u.id < ?`, below)
	return queryRows(ctx, s.engine, func(a *Account) []any {
		return []any{&a.ID, &a.Email, instant{&a.CreatedAt}, &a.Role, instant{&a.DisabledAt}, &a.InProgress}
	}, `SELECT u.id, u.email, u.created_at, u.role, u.disabled_at,
			(SELECT COUNT(*) FROM (SELECT 1 FROM renderings q WHERE q.user_id = u.id `+limitTo("$2")+`) AS counted)
		FROM users u WHERE `+where.sql+` ORDER BY u.id DESC `+limitTo("$1"), where.args...)
}

// lockUser locks the user that matches a condition until the end of the transaction. Rows of the user that
// are read afterwards cannot change before the commit. It returns studio.ErrNotFound if there is no such user, or the
// user is deleted.
func lockUser(ctx context.Context, tx transaction, condition string, args ...any) error {
	var id string
	return queryRow(ctx, tx, []any{&id}, `SELECT id FROM users WHERE deleted_at IS NULL AND `+condition+tx.forUpdate(), args...)
}

// writeOf is write for changes of rows of a user, who is locked as by lockUser. So no two transactions exceed a limit
// of the user together.
func (s *Store) writeOf(ctx context.Context, userID string, change func(tx transaction) error) error {
	return s.write(ctx, func(tx transaction) error {
		if err := lockUser(ctx, tx, `id = $1`, userID); err != nil {
			return err
		}
		return change(tx)
	})
}

// liveUser returns the SQL expression for the ID of a user, or NULL if the user is deleted. The user is not deleted
// before the end of the transaction.
func liveUser(sql dialect, id string) string {
	return `(SELECT u.id FROM users u WHERE u.id = ` + id + ` AND u.deleted_at IS NULL` + sql.keyShare() + `)`
}

func (s *Store) SetPassword(ctx context.Context, userID, current, hash string, session studio.RefreshToken, now time.Time) error {
	return s.write(ctx, func(tx transaction) error { return setPassword(ctx, tx, userID, current, hash, session, now) })
}

func setPassword(ctx context.Context, tx transaction, userID, current, hash string, session studio.RefreshToken, now time.Time) error {
	condition := `id = $1 AND $2 IN ('', password_hash)`
	if session.Hash != nil {
		condition += ` AND disabled_at IS NULL`
	}
	if err := lockUser(ctx, tx, condition, userID, current); err != nil {
		return err
	}
	err := revokeTokens(ctx, tx, userID, now,
		statement{`UPDATE users SET password_hash = $2 WHERE id = $1`, []any{userID, hash}},
		statement{`DELETE FROM links WHERE purpose = $2 AND email = (SELECT email FROM users WHERE id = $1)`, []any{userID, string(studio.ResetLink)}})
	if err != nil {
		return err
	}
	return tx.execAll(ctx, insertSession(session))
}

// RemoveUser keeps the row with the ID of the user, because subjects refer to it until they are pruned. It adds a task
// that erases the records, which is due for a daemon after a minute.
func (s *Store) RemoveUser(ctx context.Context, userID string, now time.Time) error {
	return s.write(ctx, func(tx transaction) error {
		if err := keepOperator(ctx, tx, userID); err != nil {
			return err
		}
		if err := lockUser(ctx, tx, `id = $1`, userID); err != nil {
			return err
		}
		return revokeTokens(ctx, tx, userID, now,
			statement{`DELETE FROM links WHERE made_by = $1 OR email = (SELECT email FROM users WHERE id = $1)`, []any{userID}},
			statement{`UPDATE users SET deleted_at = $2, disabled_at = $2, email = 'deleted ' || id, password_hash = '' WHERE id = $1`, []any{userID, micros(now)}},
			(&task{id: userID, kind: eraseUser, dueAt: now.Add(taskDelay)}).add())
	})
}

// userRows are the tables with rows of users, each with the column that identifies a row of theirs.
//
//nolint:gochecknoglobals // a table
var userRows = [...]struct{ table, key string }{
	{"webhook_secrets", "id"},
	{"api_keys", "id"},
	{"endpoints", "url"},
	{"alerts", "url"},
	{"pauses", "url"},
	{"replays", "id"},
	{"members", "workspace_id"},
	{"refresh_tokens", "hash"},
	{"known_addresses", "address"},
}

// eraseOfUser erases the next records of a removed user. It locks the subjects in the order of their IDs, as others do.
func eraseOfUser(ctx context.Context, tx transaction, userID string, now time.Time) (erased studio.Erased, flows []Flow, err error) {
	err = tx.query(ctx, func(scan func(...any) error) error {
		var id string
		flow := Flow{UserID: userID}
		err := scan(&id, &flow.Origin)
		erased.IDs, flows = append(erased.IDs, id), append(flows, flow)
		return err
	}, `SELECT id, origin FROM subjects WHERE `+tx.in("id", `SELECT id FROM subjects WHERE user_id = $1 AND deleted_at IS NULL
		ORDER BY kind, created_at DESC, id DESC `+limitTo("$2"))+` AND deleted_at IS NULL ORDER BY id`+tx.forUpdate(), userID, batchRows)
	if err != nil {
		return erased, nil, err
	}
	uploads, err := eraseSubjects(ctx, tx, erased.IDs, userID, now, `, webhook_url = '', key_hash = NULL, fingerprint = NULL`)
	if erased.Uploads = uploads; err != nil || len(erased.IDs) > 0 {
		erased.More = true
		return erased, flows, err
	}
	erased.Uploads, err = queryRows(ctx, tx, oneColumn[string], `DELETE FROM uploads WHERE `+
		tx.in("id", `SELECT id FROM uploads WHERE user_id = $1 `+limitTo("$2"))+` RETURNING key`, userID, batchRows)
	erased.More = len(erased.Uploads) == batchRows
	for _, of := range userRows {
		if err != nil {
			break
		}
		var rows int64
		rows, err = tx.exec(ctx, `DELETE FROM `+of.table+` WHERE user_id = $1 AND `+
			tx.in(of.key, `SELECT `+of.key+` FROM `+of.table+` WHERE user_id = $1 `+limitTo("$2")), userID, batchRows)
		erased.More = erased.More || rows >= batchRows
	}
	return erased, flows, err
}
