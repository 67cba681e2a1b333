package studio

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// Retention is how long an event and its attempts are kept after the event has ended.
const Retention = 30 * 24 * time.Hour

// Event is one notification about a subject. Its body is the same in all attempts.
type Event struct {
	ID        string
	SubjectID string
	Sequence  int64 // 1, 2, 3 and so on, within the subject
	Body      []byte
	CreatedAt time.Time
}

// EventStore stores events; see [Store]. A [SubjectStore] writes them with their subjects. It gives each event of a
// user a later CreatedAt than those that were committed before, if necessary later than the clock. So a reader that
// continues after an event, in the order of their positions, misses none.
type EventStore interface {
	// Events returns up to limit events that follow a position in an order. The zero Position is before the first. more
	// and the sizes of pages are as with Projects.
	Events(ctx context.Context, filter EventFilter, order EventOrder, after Position, limit int) (page []EventRecord, more bool, err error)
	// Attempts returns the attempts to deliver events, by the IDs of the events, in order.
	Attempts(ctx context.Context, eventIDs ...string) (map[string][]Attempt, error)
	// NewEvents returns up to limit events of a user with a CreatedAt after a time, oldest first. It skips those that
	// ended because their subject was deleted.
	NewEvents(ctx context.Context, userID string, after time.Time, limit int) ([]EventRecord, error)
	// LastEvents returns, by user, when the last event was created. Users who have had no event are missing.
	LastEvents(ctx context.Context, userIDs ...string) (map[string]time.Time, error)
	// OnEvents makes the store call wake with the users of new events, after they are committed. The events of other
	// processes may be missing. wake must not call the store. It is called by several goroutines.
	OnEvents(wake func(userIDs []string))
}

// EventOrder is the order of a list of events. The zero value is NewestFirst.
type EventOrder string

// The orders.
const (
	NewestFirst EventOrder = "newest"
	OldestFirst EventOrder = "oldest"
)

// eventID returns the ID of the last event of a subject, which announces status. The ID is a UUID of version 8 (RFC
// 9562). It depends only on the subject, the sequence and the status, so that an event has the same ID again if it
// is created again after a restore. IDs are ordered by the creation time of the subjects, and then by sequence.
func eventID(subject *Subject, status Status) string {
	const version, variant, maxSequence = 8 << 12, 1 << 63, 1<<12 - 1
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", subject.ID, subject.Sequence, status))
	high := uint64(subject.CreatedAt.UnixMilli())<<16 | version | uint64(min(subject.Sequence, maxSequence)) //nolint:gosec // both are positive
	low := variant | binary.BigEndian.Uint64(hash[:])>>2
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}

// announces reports whether entering a state creates an event (section 6.2 of the interface). For avatars, all states
// do, and for other kinds only the final states.
func announces(kind Kind, status Status) bool {
	return kind == Avatar || status != Processing
}

// eventBody returns the notification that a subject has entered a state. It consists of the event type and
// the id and status of the subject (section 6.2 of the interface).
func eventBody(kind Kind, id string, status Status) ([]byte, error) {
	type data struct {
		AvatarID    string `json:"avatar_id,omitempty"`
		InferenceID string `json:"inference_id,omitempty"`
		Status      Status `json:"status"`
	}
	type body struct {
		EventType string `json:"event_type"`
		Data      data   `json:"data"`
	}
	subject := data{InferenceID: id, Status: status}
	if kind == Avatar {
		subject = data{AvatarID: id, Status: status}
	}
	return json.Marshal(body{kind.Rules().EventType, subject})
}
