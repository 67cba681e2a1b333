// Package memstore implements [studio.Store] in memory, for a service that ends with its process. Package memory serves
// it, and the tests of package studio run on it as on the databases. Its pages are not limited in bytes, and it tells
// about the revocations of access tokens, but does not keep them. It is no [studio.DatabaseStore], so no user and no
// member of a workspace is ever removed.
package memstore

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Store stores the records of the domain in memory. It is safe for concurrent use. Methods without a comment implement
// [studio.Store] and are documented there.
type Store struct {
	// OnRevoke is called when the access tokens of a session are revoked. It must not call the Store. Default: none.
	OnRevoke func(id string, at time.Time)

	mu         sync.Mutex
	users      map[string]*studio.User
	counts     map[string]count // failed logins and sample notifications
	addresses  map[pair]time.Time
	tokens     map[string]*token
	workspaces map[string]studio.Workspace
	members    map[pair]bool
	projects   map[string]studio.Project
	subjects   map[string]subject
	keys       map[pair]keyUse       // by user and idempotency key
	events     []*studio.EventRecord // in the order of their occurrence
	lastEvent  map[string]time.Time  // by user
	seconds    map[string]int64      // of video, by user
	onEvents   []func(userIDs []string)
	pauses     map[pair]time.Time // of endpoints
	uploads    map[string]studio.Upload
	secrets    map[string][]studio.WebhookSecret // newest first
}

var _ studio.Store = (*Store)(nil)

// pair is a key of two parts, such as a workspace and a user.
type pair struct{ a, b string }

// New returns an empty Store.
func New() *Store {
	return &Store{
		users:      map[string]*studio.User{},
		counts:     map[string]count{},
		addresses:  map[pair]time.Time{},
		tokens:     map[string]*token{},
		workspaces: map[string]studio.Workspace{},
		members:    map[pair]bool{},
		projects:   map[string]studio.Project{},
		subjects:   map[string]subject{},
		keys:       map[pair]keyUse{},
		lastEvent:  map[string]time.Time{},
		seconds:    map[string]int64{},
		pauses:     map[pair]time.Time{},
		uploads:    map[string]studio.Upload{},
		secrets:    map[string][]studio.WebhookSecret{},
		OnRevoke:   func(string, time.Time) {},
	}
}

// newest orders positions newest first.
func newest(a, b studio.Position) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
}

// page returns up to limit of the rows that follow after in an order. The zero Position is before the first.
func page[T any](
	rows []T, position func(T) studio.Position, compare func(a, b studio.Position) int, after studio.Position, limit int,
) (page []T, more bool) {
	if after.ID != "" {
		rows = slices.DeleteFunc(rows, func(row T) bool { return compare(position(row), after) <= 0 })
	}
	slices.SortFunc(rows, func(a, b T) int { return compare(position(a), position(b)) })
	if len(rows) > limit {
		return rows[:limit], true
	}
	return rows, false
}

// find returns the record with an ID. The error is [studio.ErrNotFound].
func find[K comparable, T any](records map[K]T, id K) (record T, err error) {
	record, ok := records[id]
	if !ok {
		err = studio.ErrNotFound
	}
	return record, err
}

// insert adds a record. The error is [studio.ErrExists].
func insert[T any](records map[string]T, id string, record T) error {
	if _, ok := records[id]; ok {
		return studio.ErrExists
	}
	records[id] = record
	return nil
}
