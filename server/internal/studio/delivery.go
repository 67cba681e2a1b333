package studio

import "time"

// EventRecord is an event with its delivery.
type EventRecord struct {
	Event

	UserID  string
	URL     string // its query may hold a secret; "" if no webhook is registered
	State   EventState
	Tries   int       // attempts made since the creation or the last replay
	EndedAt time.Time // zero while the event is pending
	Reason  Reason    // why the event is exhausted

	Kind        Kind // of the subject, like WorkspaceID, Title and Status
	WorkspaceID string
	Title       *string
	Status      Status
	Deleted     bool    // whether the subject is deleted
	Last        Attempt // the latest attempt, without its excerpt; zero if there is none
	// NextAt is when the next attempt of a pending event is due, which may be past. It is zero for other events, and
	// while an earlier event of the subject is pending.
	NextAt time.Time
}

// EventFilter selects events. A zero field matches every event.
type EventFilter struct {
	ID        string     `json:"id,omitzero"`
	UserID    string     `json:"user_id,omitzero"`
	SubjectID string     `json:"subject_id,omitzero"`
	Kind      Kind       `json:"kind,omitzero"` // of the subject
	State     EventState `json:"state,omitzero"`
	From      time.Time  `json:"from,omitzero"` // the first creation time
	To        time.Time  `json:"to,omitzero"`   // after the last creation time
	// WorkspaceID is that of the subject. The use cases set it; see [OnlyWorkspace].
	WorkspaceID string `json:"workspace_id,omitzero"`
}

// EventState is the state of an event.
type EventState string

// The states of events. All but pending ones have ended.
const (
	EventPending   EventState = "pending"
	EventDelivered EventState = "delivered"
	EventExhausted EventState = "exhausted"
	EventUnsent    EventState = "none" // the subject has no webhook
)

// EventStates returns all states of events.
func EventStates() []EventState {
	return []EventState{EventPending, EventDelivered, EventExhausted, EventUnsent}
}

// NoEventState matches every state in an [EventFilter]. As the outcome of an attempt, it leaves the event unchanged.
const NoEventState EventState = ""

// Reason is why an event is exhausted, which means that it is a dead letter.
type Reason string

// The reasons.
const (
	ReasonSchedule Reason = "schedule"     // every attempt of the schedule failed
	ReasonRefused  Reason = "refused"      // the receiver refused the event permanently
	ReasonGone     Reason = "gone"         // the receiver responded with 410
	ReasonDisabled Reason = "endpoint off" // the URL is disabled
	ReasonDeleted  Reason = "deleted"      // the subject was deleted, and the event is not replayed
)

// Attempt is one attempt to deliver an event.
type Attempt struct {
	Number   int // 1, 2, 3 … for each event, replays included
	At       time.Time
	Duration time.Duration
	Address  string // "" if no address was reached
	Status   int    // 0 if there was no response
	Failure  string // "" if the event was delivered
	Excerpt  []byte // the start of the response body
}
