package studio

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	// maxReplays limits the replays of a user that are not finished. replayRetryAfter is the wait after that.
	maxReplays       = 10
	replayRetryAfter = time.Minute
)

// Replay is a request to send events again.
type Replay struct {
	// Filter selects events, those of every user if its UserID is "". Its State is not used.
	Filter EventFilter
	// EventIDs selects events by their IDs, in addition to Filter. If empty, Filter must have a range.
	EventIDs []string
	// States are the states of the events, EventExhausted and EventDelivered. Default EventExhausted.
	States []EventState
	// DryRun only counts the events. It does not use the idempotency key.
	DryRun         bool
	IdempotencyKey string // "" if there is none
}

// ReplaySelection is the events of a replay: those that have ended when it is requested. It never contains events
// without a webhook and events of deleted subjects.
type ReplaySelection struct {
	Filter   EventFilter  `json:"filter"`
	EventIDs []string     `json:"event_ids,omitempty"` // if not empty, the only IDs
	States   []EventState `json:"states"`
}

// ReplayStore stores replays; see [Store].
type ReplayStore interface {
	// CountReplay returns how many events a selection contains at now.
	CountReplay(ctx context.Context, selection ReplaySelection, now time.Time) (events int64, err error)
	// AddReplay counts the events of a selection as CountReplay does, and adds a replay, which makes them pending
	// again. If the user has used key before and it has not expired, AddReplay adds nothing. It then returns the number
	// of events of that replay, or [ErrKeyReused]. If another call with the key is in progress, it waits for that call
	// or returns [ErrKeyInUse]. If limit replays of the user are not finished, it returns [ErrTooManyReplays].
	AddReplay(ctx context.Context, id string, selection ReplaySelection, key IdempotencyKey, now time.Time, limit int) (events int64, err error)
}

// ReplayEvents sends events again that are exhausted or delivered, and returns their number. It does not wait for them:
// package deliver makes them pending in batches. Each has its ID and body and the whole retry schedule. The events of a
// subject are sent in their order, and before its later pending events. Events for a paused URL wait, and those for a
// disabled URL are exhausted again. IDs of events that the user does not have are ignored.
//
// The error is [ErrReplayEmpty] without a selection, [ErrRange] if the range ends before it begins, and
// [ErrTooManyReplays] if too many replays are not finished. A replay with the idempotency key of an earlier one within
// [IdempotencyLifetime] sends nothing. It returns the number of the earlier one, [ErrKeyReused] if the request was
// another one, or [ErrKeyInUse].
func (s *Service) ReplayEvents(ctx context.Context, r Replay) (events int64, err error) {
	selection := ReplaySelection{r.Filter, normalIDs(r.EventIDs), r.States}
	selection.Filter.State, selection.Filter.WorkspaceID = NoEventState, onlyWorkspace(ctx)
	if len(selection.States) == 0 {
		selection.States = []EventState{EventExhausted}
	}
	if len(r.EventIDs) == 0 && r.Filter.From.IsZero() && r.Filter.To.IsZero() {
		return 0, ErrReplayEmpty
	}
	if err := r.Filter.checkRange(); err != nil {
		return 0, err
	}
	if len(r.EventIDs) > 0 && len(selection.EventIDs) == 0 {
		return 0, nil
	}
	now := s.now()
	if r.DryRun {
		return s.Store.CountReplay(ctx, selection, now)
	}
	request, err := json.Marshal(selection)
	if err != nil {
		return 0, err
	}
	key := newIdempotencyKey(r.IdempotencyKey, "replay", request, now)
	events, err = s.Store.AddReplay(ctx, NewID(), selection, key, now, maxReplays)
	if errors.Is(err, ErrTooManyReplays) {
		err = ErrTooManyReplays.After(replayRetryAfter)
	}
	return events, orDeleted(err)
}

// normalIDs returns each ID once, in order, and omits IDs with U+0000, which no event has.
func normalIDs(ids []string) []string {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.ContainsRune(id, 0) })
	slices.Sort(ids)
	return slices.Compact(ids)
}
