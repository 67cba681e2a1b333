package store

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// keyed is a write with an idempotency key: a creation or a replay. A user has one space of keys for both.
type keyed struct {
	groupMember

	userID  string
	key     studio.IdempotencyKey
	keyHash []byte // nil without a key
	keyUse  keyUse
}

// keyUse is an earlier use of an idempotency key, or its zero value.
type keyUse struct {
	id          string // of the subject or replay
	fingerprint []byte
	expired     bool
}

// valid reports whether the key was used, and not too long ago.
func (u keyUse) valid() bool { return u.id != "" && !u.expired }

// newKeyed returns a write. Its hash identifies the key of the user. A column of its own lets the planner of PostgreSQL
// find rows by nothing else.
func newKeyed(userID string, key studio.IdempotencyKey) keyed {
	k := keyed{userID: userID, key: key}
	if key.Key != "" {
		hash := sha256.Sum256([]byte(userID + " " + key.Key))
		k.keyHash = hash[:]
	}
	return k
}

// lockName returns the name that a write with an idempotency key locks.
func (k *keyed) lockName() string { return "idempotency key " + k.userID + " " + k.key.Key }

// The statements about earlier uses of idempotency keys.
//
//nolint:gochecknoglobals // constants
var (
	findKeys = newRowStatement(`key_hash bytea`, func(k *keyed) []any { return []any{k.keyHash} }, func(sql dialect) string {
		used := sql.in("key_hash", `SELECT r.key_hash FROM r`)
		return `SELECT key_hash, id, fingerprint, created_at FROM subjects WHERE ` + used +
			` UNION ALL SELECT key_hash, id, fingerprint, requested_at FROM replays WHERE ` + used
	})
	forgetSubjectKeys = newForgetKeys("subjects")
	forgetReplayKeys  = newForgetKeys("replays")
)

func newForgetKeys(table string) rowStatement[*keyed] {
	return newRowStatement(`id text`, func(k *keyed) []any { return []any{k.keyUse.id} }, func(sql dialect) string {
		return `UPDATE ` + table + ` SET key_hash = NULL, fingerprint = NULL WHERE ` + sql.in("id", `SELECT r.id FROM r`)
	})
}

// forgetKeys returns the statements that make idempotency keys unused which have expired.
func forgetKeys(sql dialect, expired ...*keyed) []statement {
	return slices.Concat(forgetSubjectKeys.with(sql, expired...), forgetReplayKeys.with(sql, expired...))
}

// lockKeys locks the idempotency keys of writes until the end of the transaction, and sets their earlier uses. The
// error of a write is studio.ErrKeyInUse if its key is in use, or is the key of another one.
func lockKeys(ctx context.Context, tx transaction, group []*keyed) error {
	members := make(map[string]*keyed) // by the hash of the key
	var names []string
	var keys []*keyed
	for _, k := range group {
		k.keyUse, k.err = keyUse{}, nil
		if k.key.Key == "" {
			continue
		}
		hash := string(k.keyHash)
		if members[hash] != nil {
			k.err = studio.ErrKeyInUse
			continue
		}
		members[hash] = k
		names, keys = append(names, k.lockName()), append(keys, k)
	}
	if len(keys) == 0 {
		return nil
	}
	locked, err := tx.lockAndQuery(ctx, names, func(scan func(...any) error) error {
		var hash []byte
		var use keyUse
		var at time.Time
		err := scan(&hash, &use.id, &use.fingerprint, instant{&at})
		k := members[string(hash)]
		use.expired = !at.After(k.key.After)
		k.keyUse = use
		return err
	}, findKeys.with(tx, keys...)...)
	for i, k := range keys {
		if !slices.Contains(locked, names[i]) {
			k.err = studio.ErrKeyInUse
		}
	}
	return err
}
