package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

// AccessTokenKey is the name of the first key that signs access tokens. The names of later ones, and no others, begin
// with it.
const AccessTokenKey = "access-token"

// sealBatch bounds the webhook secrets that Seal encrypts in one transaction.
const sealBatch = 500

// keyPlace returns the place of a key, to which its encryption is bound: the value cannot be decrypted in
// another row.
func keyPlace(name string) string { return "signing_keys.key " + name }

// secretPlace returns the place of a webhook secret, to which its encryption is bound.
func secretPlace(id int64, userID string) string {
	return fmt.Sprintf("webhook_secrets.secret %d %s", id, userID)
}

// Key returns the key with a name. If there is none, it stores and returns the key that create returns.
func (s *Store) Key(ctx context.Context, name string, create func() []byte) ([]byte, error) {
	keys, err := s.Keys(ctx)
	if err != nil || keys[name] != nil {
		return keys[name], err
	}
	err = s.exec(ctx, `INSERT INTO signing_keys (name, key) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
		name, []byte(s.keys.Seal(string(create()), keyPlace(name))))
	if err == nil {
		keys, err = s.Keys(ctx)
	}
	return keys[name], err
}

// Keys returns all keys by name.
func (s *Store) Keys(ctx context.Context) (keys map[string][]byte, err error) {
	keys, err = sealedKeys(ctx, s.engine)
	for name, key := range keys {
		value, err := s.keys.Open(string(key), keyPlace(name))
		if err != nil {
			return nil, err
		}
		keys[name] = []byte(value)
	}
	return keys, err
}

// sealedKeys returns all keys by name, encrypted as they are stored.
func sealedKeys(ctx context.Context, q querier) (map[string][]byte, error) {
	return queryMap(ctx, q, func(key *[]byte) any { return key }, `SELECT name, key FROM signing_keys`)
}

// SetKey stores a key with a name. It replaces the key that has the name.
func (s *Store) SetKey(ctx context.Context, name string, key []byte) error {
	return s.exec(ctx, `INSERT INTO signing_keys (name, key) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET key = excluded.key`,
		name, []byte(s.keys.Seal(string(key), keyPlace(name))))
}

// DeleteKey deletes the key with a name. It is no error if there is none.
func (s *Store) DeleteKey(ctx context.Context, name string) error {
	return s.exec(ctx, deleteKey, name)
}

const deleteKey = `DELETE FROM signing_keys WHERE name = $1`

// ReleaseKey deletes the key with a name if it is key. Otherwise, another process has replaced it, and keeps it.
func (s *Store) ReleaseKey(ctx context.Context, name string, key []byte) error {
	return s.write(ctx, func(tx transaction) error {
		stored, err := queryRows(ctx, tx, oneColumn[[]byte], `SELECT key FROM signing_keys WHERE name = $1`+tx.forUpdate(), name)
		if err != nil || len(stored) == 0 {
			return err
		}
		held, err := s.keys.Open(string(stored[0]), keyPlace(name))
		if err != nil || held != string(key) {
			return err
		}
		_, err = tx.exec(ctx, deleteKey, name)
		return err
	})
}

// Unreadable is the keys and webhook secrets that are encrypted with a key that is not in the keyring.
type Unreadable struct {
	Keys    []string // their names
	Secrets int
	Users   int // with such secrets
}

// Unreadable counts what the keyring cannot decrypt. If remove is set, it also deletes that, in the same transaction.
// No daemon may run then.
func (s *Store) Unreadable(ctx context.Context, remove bool) (found Unreadable, err error) {
	prefixes := s.keys.Prefixes()
	var where conditions
	where.add(`substr(secret, 1, ?) = ?`, len(keyring.Mark), keyring.Mark)
	for _, prefix := range prefixes {
		where.add(`substr(secret, 1, ?) <> ?`, len(prefix), prefix)
	}
	err = s.write(ctx, func(tx transaction) error {
		found = Unreadable{}
		keys, err := sealedKeys(ctx, tx)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			known := func(prefix string) bool { return strings.HasPrefix(string(keys[name]), prefix) }
			if keyring.Sealed(string(keys[name])) && !slices.ContainsFunc(prefixes, known) {
				found.Keys = append(found.Keys, name)
			}
		}
		err = queryRow(ctx, tx, []any{&found.Secrets, &found.Users}, `SELECT COUNT(*), COUNT(DISTINCT user_id) FROM webhook_secrets WHERE `+where.sql, where.args...)
		if err != nil || !remove {
			return err
		}
		all := []statement{{`DELETE FROM webhook_secrets WHERE ` + where.sql, where.args}}
		for _, name := range found.Keys {
			all = append(all, statement{deleteKey, []any{name}})
		}
		return tx.execAll(ctx, all)
	})
	return found, err
}

// Seal encrypts the keys and webhook secrets that are stored in clear, and returns their number. If again is
// set, it also encrypts those again that an older key of the keyring encrypted. Daemons may run during Seal
// if they have the same keyring. Seal uses several transactions: after an error, some values may have been
// encrypted, and Seal may be called again. It does nothing without a keyring.
func (s *Store) Seal(ctx context.Context, again bool) (sealed int, err error) {
	if s.keys == nil {
		return 0, nil
	}
	before := keyring.Mark
	if again {
		before = s.keys.Current()
	}
	if e, ok := s.engine.(*sqlite); ok {
		if err := e.pragma(ctx, "secure_delete = true"); err != nil { // which overwrites with zeros what is replaced
			return 0, err
		}
		defer func() {
			err = errors.Join(err, e.pragma(ctx, "secure_delete = false"))
			if err == nil && sealed > 0 { // the log has it, too, and keeps it while another connection reads from there
				err = e.pragma(ctx, "wal_checkpoint(TRUNCATE)")
			}
		}()
	}
	n, err := s.sealKeys(ctx, before)
	sealed += n
	for after := int64(0); err == nil; {
		if n, after, err = s.sealSecrets(ctx, before, after); n == 0 {
			break
		}
		sealed += n
	}
	return sealed, err
}

// sealKeys is Seal for the keys. A value that begins with before is left as it is.
func (s *Store) sealKeys(ctx context.Context, before string) (sealed int, err error) {
	keys, err := sealedKeys(ctx, s.engine)
	if err != nil {
		return 0, err
	}
	var all []statement
	for name, key := range keys {
		if strings.HasPrefix(string(key), before) {
			continue
		}
		value, err := s.keys.Open(string(key), keyPlace(name))
		if err != nil {
			return 0, err
		}
		all = append(all, statement{
			`UPDATE signing_keys SET key = $2 WHERE name = $1 AND key = $3`,
			[]any{name, []byte(s.keys.Seal(value, keyPlace(name))), key},
		})
	}
	return len(all), s.execAll(ctx, all)
}

// sealSecrets is Seal for the next batch of webhook secrets, with IDs after after. It returns the last ID of
// the batch.
func (s *Store) sealSecrets(ctx context.Context, before string, after int64) (sealed int, last int64, err error) {
	var all []statement
	last = after
	err = s.engine.query(ctx, func(scan func(...any) error) error {
		var userID, secret string
		if err := scan(&last, &userID, &secret); err != nil {
			return err
		}
		value, err := s.keys.Open(secret, secretPlace(last, userID))
		all = append(all, statement{
			`UPDATE webhook_secrets SET secret = $2 WHERE id = $1 AND secret = $3`,
			[]any{last, s.keys.Seal(value, secretPlace(last, userID)), secret},
		})
		return err
	}, `SELECT id, user_id, secret FROM webhook_secrets WHERE id > $1 AND substr(secret, 1, $2) <> $3 ORDER BY id LIMIT $4`,
		after, len(before), before, sealBatch)
	if err != nil {
		return 0, last, err
	}
	return len(all), last, s.execAll(ctx, all)
}
