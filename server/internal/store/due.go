package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// dueWork is the work that a transaction makes due, and the revocations of which it tells.
type dueWork struct {
	flows     []Flow
	users     []string // with new events
	rendering bool
	replay    bool
	revoked   map[string]time.Time
	mayBeDue  bool // it is unknown whether the transaction was committed
}

func (w *dueWork) markDeliveryDue(flow Flow) { w.flows = append(w.flows, flow) }

func (w *dueWork) markNewEvents(userID string) { w.users = append(w.users, userID) }

func (w *dueWork) markRenderDue() { w.rendering = true }

func (w *dueWork) markReplayDue() { w.replay = true }

func (w *dueWork) markRevoked(id string, at time.Time) {
	if w.revoked == nil {
		w.revoked = make(map[string]time.Time)
	}
	w.revoked[id] = at
}

// Due returns a channel that receives a value after this process made events due or deleted subjects. One value
// may stand for many changes.
func (s *Store) Due() <-chan struct{} { return s.due }

// RenderDue returns a channel that receives a value after this process made a rendering due or scheduled its
// retry. One value may stand for many renderings.
func (s *Store) RenderDue() <-chan struct{} { return s.renderDue }

// ReplayDue returns a channel that receives a value after this process added a replay. One value may stand for many.
func (s *Store) ReplayDue() <-chan struct{} { return s.replayDue }

// TakeDue returns the flows in which this process made events due since the last call. Call it after each
// value of [Store.Due], and [Store.NotifyDue] for the flows that other processes deliver.
func (s *Store) TakeDue() []Flow { return take(&s.mu, s.dueFlows) }

// TakeDeleted returns the flows in which this process deleted subjects since the last call. Deliveries that
// were read before must not be sent. Call it as TakeDue, and [Store.NotifyDeleted].
func (s *Store) TakeDeleted() []Flow { return take(&s.mu, s.deletedFlows) }

// take returns the members of a set, which mu protects, and clears it.
func take[T comparable](mu *sync.Mutex, set map[T]struct{}) []T {
	mu.Lock()
	defer mu.Unlock()
	all := slices.Collect(maps.Keys(set))
	clear(set)
	return all
}

// signalDue signals that work has become due, and tells about revocations.
func (s *Store) signalDue(work dueWork) {
	for id, at := range work.revoked {
		s.onRevoke(id, at)
	}
	if len(work.flows) > 0 {
		if !work.mayBeDue {
			s.notifyDaemons(s.NotifyDue, work.flows)
		}
		s.signalFlows(s.dueFlows, work.flows)
	}
	if len(work.users) > 0 {
		s.reportEvents(work.users)
	}
	if work.rendering {
		studio.Signal(s.renderDue)
	}
	if work.replay {
		studio.Signal(s.replayDue)
	}
}

// signalDeleted signals that subjects with events in flows were deleted.
func (s *Store) signalDeleted(flows []Flow) {
	s.notifyDaemons(s.NotifyDeleted, flows)
	s.signalFlows(s.deletedFlows, flows)
}

// notifyDaemons notifies the daemons of the changes of a command, on PostgreSQL. It ignores errors, because
// the daemons also find the changes by their next scan.
func (s *Store) notifyDaemons(notify func(ctx context.Context, flows []Flow) error, flows []Flow) {
	if !s.daemon {
		different := make(map[Flow]struct{}) // a batch may be of one flow
		for _, flow := range flows {
			different[flow] = struct{}{}
		}
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		_ = notify(ctx, slices.Collect(maps.Keys(different)))
	}
}

// signalFlows adds flows to a set and signals Due.
func (s *Store) signalFlows(all map[Flow]struct{}, flows []Flow) {
	s.mu.Lock()
	for _, flow := range flows {
		all[flow] = struct{}{}
	}
	s.mu.Unlock()
	studio.Signal(s.due)
}
