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

// signalKind is what a signal tells a process. Its key says of whom.
type signalKind string

const (
	signalDue      signalKind = "due"      // events of a flow have become due
	signalDeleted  signalKind = "deleted"  // subjects with events in a flow were deleted
	signalRender   signalKind = "render"   // renderings are due; to other processes: for which this one has no worker
	signalReplay   signalKind = "replay"   // a replay was added; not to other processes
	signalTask     signalKind = "task"     // tasks were added; not to other processes
	signalEvents   signalKind = "events"   // a user has new events; not to other processes
	signalReleased signalKind = "released" // a lease holder has released lanes; only to other processes
)

// signals has the signals to the parts of this process. One signal may stand for many. It is safe for concurrent use.
type signals struct {
	channels map[signalKind]chan struct{}

	mu   sync.Mutex
	keys map[signalKind]map[string]struct{}
}

func newSignals() *signals {
	s := &signals{channels: make(map[signalKind]chan struct{}), keys: make(map[signalKind]map[string]struct{})}
	for _, kind := range []signalKind{signalDue, signalRender, signalReplay, signalTask} {
		s.channels[kind] = make(chan struct{}, 1)
	}
	s.channels[signalDeleted] = s.channels[signalDue]
	return s
}

// send sends signals with keys, or one with no key.
func (s *signals) send(kind signalKind, keys ...string) {
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
func (s *signals) take(kind signalKind) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Collect(maps.Keys(s.keys[kind]))
	clear(s.keys[kind])
	return keys
}

// marks are the signals that follow the commit of a transaction, and the revocations of which it tells.
type marks struct {
	keys    map[signalKind][]string
	revoked map[string]time.Time
	unsure  bool // it is unknown whether the transaction was committed
}

func (m *marks) mark(kind signalKind, key string) {
	if m.keys == nil {
		m.keys = make(map[signalKind][]string)
	}
	m.keys[kind] = append(m.keys[kind], key)
}

func (m *marks) markRevoked(id string, at time.Time) {
	if m.revoked == nil {
		m.revoked = make(map[string]time.Time)
	}
	m.revoked[id] = at
}

// Due returns a channel that receives a value after this process made events due or deleted subjects. One value
// may stand for many changes.
func (s *Store) Due() <-chan struct{} { return s.signals.channels[signalDue] }

// RenderDue returns a channel that receives a value after this process made a rendering due or scheduled its
// retry. One value may stand for many renderings.
func (s *Store) RenderDue() <-chan struct{} { return s.signals.channels[signalRender] }

// ReplayDue returns a channel that receives a value after this process added a replay. One value may stand for many.
func (s *Store) ReplayDue() <-chan struct{} { return s.signals.channels[signalReplay] }

// TaskDue returns a channel that receives a value after this process moved due times, for which it added tasks.
func (s *Store) TaskDue() <-chan struct{} { return s.signals.channels[signalTask] }

// OnEvents calls wake after the commits of this process only. Others find their events by [Store.LastEvents].
func (s *Store) OnEvents(wake func(userIDs []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEvents = append(s.onEvents, wake)
}

// TakeDue returns the flows in which this process made events due since the last call. Call it after each
// value of [Store.Due], and [Store.NotifyDue] for the flows that other processes deliver.
func (s *Store) TakeDue() []Flow { return flowsOf(s.signals.take(signalDue)) }

// TakeDeleted returns the flows in which this process deleted subjects since the last call. Deliveries that
// were read before must not be sent. Call it as TakeDue, and [Store.NotifyDeleted].
func (s *Store) TakeDeleted() []Flow { return flowsOf(s.signals.take(signalDeleted)) }

// key returns the flow as the key of a signal.
func (f Flow) key() string { return f.UserID + " " + f.Origin }

// flowOf is the opposite of Flow.key.
func flowOf(key string) (flow Flow) {
	flow.UserID, flow.Origin, _ = strings.Cut(key, " ")
	return flow
}

func flowsOf(keys []string) (flows []Flow) {
	for _, key := range keys {
		flows = append(flows, flowOf(key))
	}
	return flows
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
		case kind == signalDeleted, kind == signalDue && !m.unsure:
			s.notifyDaemons(kind, keys)
		}
		s.signals.send(kind, keys...)
	}
}

// signalFlows signals that events of flows are due, or that subjects with events in flows were deleted.
func (s *Store) signalFlows(kind signalKind, flows []Flow) {
	s.signal(marks{keys: map[signalKind][]string{kind: keysOf(flows)}})
}

// notifyDaemons notifies the daemons of the changes of a command. It ignores errors, because the daemons also find the
// changes by their next scan.
func (s *Store) notifyDaemons(kind signalKind, keys []string) {
	if !s.daemon {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		slices.Sort(keys)
		_ = s.notify(ctx, kind, slices.Compact(keys)...) // a batch may be of one flow
	}
}
