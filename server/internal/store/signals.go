package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// SignalKind is what a signal tells this process, or others by notifications. Its key says of whom.
type SignalKind string

// The kinds of signals.
const (
	SignalDue     SignalKind = "due"     // events of a flow have become due
	SignalDeleted SignalKind = "deleted" // subjects with events in a flow were deleted; what was read before must not be sent
	SignalRender  SignalKind = "render"  // renderings are due; to other processes: for which this one has no worker
	SignalReplay  SignalKind = "replay"  // a replay was added; not to other processes
	SignalTask    SignalKind = "task"    // tasks were added; not to other processes
	signalEvents  SignalKind = "events"  // a user has new events; see OnEvents
)

// signals has the signals to the parts of this process. One signal may stand for many. It is safe for concurrent use.
type signals struct {
	channels map[SignalKind]chan struct{}

	mu   sync.Mutex
	keys map[SignalKind]map[string]struct{}
}

func newSignals() *signals {
	s := &signals{channels: make(map[SignalKind]chan struct{}), keys: make(map[SignalKind]map[string]struct{})}
	for _, kind := range []SignalKind{SignalDue, SignalRender, SignalReplay, SignalTask} {
		s.channels[kind] = make(chan struct{}, 1)
	}
	s.channels[SignalDeleted] = s.channels[SignalDue]
	return s
}

// send sends signals with keys, or one with no key.
func (s *signals) send(kind SignalKind, keys ...string) {
	s.mu.Lock()
	if s.keys[kind] == nil {
		s.keys[kind] = make(map[string]struct{})
	}
	for _, key := range keys {
		s.keys[kind][key] = struct{}{}
	}
	s.mu.Unlock()
	studio.Signal(s.channels[kind])
}

// take returns the keys that were sent since the last call.
func (s *signals) take(kind SignalKind) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Collect(maps.Keys(s.keys[kind]))
	clear(s.keys[kind])
	return keys
}

// marks are the signals that follow the commit of a transaction, and the revocations of which it tells.
type marks struct {
	keys    map[SignalKind][]string
	revoked map[string]time.Time
	unsure  bool // it is unknown whether the transaction was committed
}

func (m *marks) mark(kind SignalKind, key string) {
	if m.keys == nil {
		m.keys = make(map[SignalKind][]string)
	}
	m.keys[kind] = append(m.keys[kind], key)
}

func (m *marks) markRevoked(id string, at time.Time) {
	if m.revoked == nil {
		m.revoked = make(map[string]time.Time)
	}
	m.revoked[id] = at
}

// Signal returns a channel that receives a value after commits of this process to which signals of a kind belong. One
// value may stand for many. SignalDue and SignalDeleted have the same channel.
func (s *Store) Signal(kind SignalKind) <-chan struct{} { return s.signals.channels[kind] }

// OnEvents calls wake after the commits of this process only. Others find their events by [Store.LastEvents].
func (s *Store) OnEvents(wake func(userIDs []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEvents = append(s.onEvents, wake)
}

// TakeFlows returns the flows of the signals of a kind since the last call, SignalDue or SignalDeleted. Call it after
// each value of [Store.Signal], and [Store.Notify] for the flows that other processes deliver.
func (s *Store) TakeFlows(kind SignalKind) (flows []Flow) {
	for _, key := range s.signals.take(kind) {
		flows = append(flows, flowOf(key))
	}
	return flows
}

// key returns the flow as the key of a signal.
func (f Flow) key() string { return f.UserID + " " + f.Origin }

// flowOf is the opposite of Flow.key.
func flowOf(key string) (flow Flow) {
	flow.UserID, flow.Origin, _ = strings.Cut(key, " ")
	return flow
}

func keysOf(flows []Flow) (keys []string) {
	for _, flow := range flows {
		keys = append(keys, flow.key())
	}
	return keys
}

// signal sends the signals of a transaction, and tells about revocations.
func (s *Store) signal(m marks) {
	for id, at := range m.revoked {
		s.onRevoke(id, at)
	}
	for kind, keys := range m.keys {
		switch {
		case kind == signalEvents:
			s.mu.Lock()
			wakes := s.onEvents
			s.mu.Unlock()
			for _, wake := range wakes {
				wake(keys)
			}
			continue
		case kind == SignalDeleted, kind == SignalDue && !m.unsure:
			s.notifyDaemons(kind, keys)
		}
		s.signals.send(kind, keys...)
	}
}

// signalFlows signals that events of flows are due, or that subjects with events in flows were deleted.
func (s *Store) signalFlows(kind SignalKind, flows []Flow) {
	s.signal(marks{keys: map[SignalKind][]string{kind: keysOf(flows)}})
}

// notifyDaemons notifies the daemons of the changes of a process that does not deliver. It ignores errors, because the
// daemons also find the changes by their next scan.
func (s *Store) notifyDaemons(kind SignalKind, keys []string) {
	if !s.delivers {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		slices.Sort(keys)
		_ = s.notify(ctx, kind, slices.Compact(keys)...) // a batch may be of one flow
	}
}
