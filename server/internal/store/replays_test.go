package store_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// replayIDs is the ID of the last replay.
var replayIDs atomic.Int64

// exhausted selects exhausted events.
func exhausted(filter studio.EventFilter, ids ...string) studio.ReplaySelection {
	return studio.ReplaySelection{Filter: filter, EventIDs: ids, States: []studio.EventState{studio.EventExhausted}}
}

// replay adds a replay, works all replays off, and returns the number of its events.
func replay(t *testing.T, db *store.Store, selection studio.ReplaySelection, now time.Time) int64 {
	t.Helper()
	id := fmt.Sprint(replayIDs.Add(1))
	n := try(db.AddReplay(t.Context(), id, selection, studio.IdempotencyKey{}, now, 10))(t)
	studiotest.FinishReplays(t, db, now)
	return n
}

func TestStore_Replay_keepsTheOrderOfEvents(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		create(t, db, subject("a", 4))
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
		finish(t, db, "a", store.Outcome{State: studio.EventDelivered})
		finish(t, db, "a", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonRefused})
		<-db.Signal(store.SignalDue)
		db.TakeFlows(store.SignalDue)
		hour := noon().Add(time.Hour)
		if replayed := replay(t, db, exhausted(studio.EventFilter{}), hour); replayed != 2 {
			t.Errorf("%d events are replayed, want the 2 that were exhausted", replayed)
		}
		for name, signal := range map[string]<-chan struct{}{"replayed event": db.Signal(store.SignalDue), "replay": db.Signal(store.SignalReplay)} {
			select {
			case <-signal:
			default:
				t.Errorf("a %s is not signaled", name)
			}
		}
		if flows := db.TakeFlows(store.SignalDue); !slices.Equal(flows, []store.Flow{{UserID: "ada", Origin: "https://hooks.example.com"}}) {
			t.Errorf("due flows are %v", flows)
		}
		if reasons := db.Texts(t, `SELECT reason FROM events WHERE reason <> ''`); len(reasons) > 0 {
			t.Errorf("the reasons %s of ended events are left", reasons)
		}
		for _, want := range []string{"a-1", "a-3", "a-4"} {
			next := nextDelivery(t, db, "a")
			if next.Event.ID != want || next.Tries != 0 || next.DueAt.After(hour) {
				t.Errorf("next is %+v, want %s", next, want)
			}
			finish(t, db, "a", store.Outcome{State: studio.EventDelivered})
		}
		attempts := attemptsOf(t, db, "a-1")
		if len(attempts) != 2 || attempts[1].Number != 2 {
			t.Errorf("attempts are %+v, want the one before the replay too", attempts)
		}
		try(db.ExhaustEvents(t.Context(), "a", hour, studio.ReasonSchedule))(t) // which ends none that has ended
		event := try(db.Event(t.Context(), "a-1"))(t)
		if event.Tries != 1 || event.Reason != "" || event.State != studio.EventDelivered {
			t.Errorf("the event is %+v", event)
		}
	})
}

// A replay makes each selected event pending exactly once, also if it takes several batches and the first events have
// ended again before the last ones are replayed.
func TestStore_Replay_selectsEachEventOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), studio.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon()}))
		const subjects = 30
		for i := range subjects {
			s := subject(fmt.Sprint(i), 40) // more events than one transaction replays
			for j := range s.Events {
				s.Events[j].CreatedAt = noon().Add(time.Duration(i) * time.Hour)
			}
			if i == 29 {
				s.UserID = "bob"
			}
			create(t, db, s)
			try(db.ExhaustEvents(t.Context(), s.ID, noon(), studio.ReasonSchedule))(t)
		}
		if due := db.NextDue(t, store.DeliverAt); len(due) != 0 {
			t.Errorf("%d subjects are due after their events were exhausted", len(due))
		}
		from := func(hours int) time.Time { return noon().Add(time.Duration(hours) * time.Hour) }
		for i, test := range []struct {
			filter studio.EventFilter
			ids    []string
			want   int64
		}{
			{studio.EventFilter{}, []string{"3-7"}, 1},
			{studio.EventFilter{UserID: "bob"}, []string{"3-8", "29-1", "none"}, 1},
			{studio.EventFilter{UserID: "ada"}, []string{"3-7", "29-2", "none"}, 0}, // a pending event and one of another user
			{studio.EventFilter{SubjectID: "3"}, nil, 39},
			{studio.EventFilter{From: from(28)}, nil, 79},
			{studio.EventFilter{UserID: "ada", From: from(26), To: from(29)}, nil, 80},
			{studio.EventFilter{To: noon()}, nil, 0},
			{studio.EventFilter{UserID: "ada"}, nil, 29*40 - 40 - 3*40},
		} {
			now := noon().Add(time.Duration(i) * time.Second)
			count := try(db.CountReplay(t.Context(), exhausted(test.filter, test.ids...), now))(t)
			if replayed := replay(t, db, exhausted(test.filter, test.ids...), now); replayed != test.want || count != test.want {
				t.Errorf("%+v %v counts %d and replays %d events, want %d", test.filter, test.ids, count, replayed, test.want)
			}
		}
		if due := db.NextDue(t, store.DeliverAt); len(due) != subjects {
			t.Errorf("%d subjects are due", len(due))
		}
	})
}

// A replay waits while its user has a thousand due deliveries that can be made. Those of other users go on.
func TestStore_ReplayNext_waitsForTheBacklogOfTheUser(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), user("bob")))
		breaker := func(origin string, until time.Time) string {
			return fmt.Sprintf(`INSERT INTO breakers (origin, until, pause) VALUES ('%s', %d, 1)`, origin, until.UnixMicro())
		}
		later := noon().Add(time.Hour)
		for i, test := range []struct {
			user     string
			backlog  int
			change   string
			replayed []string
		}{
			{"ada", 999, breaker("https://other", later), []string{"ada", "bob"}},
			{"ada", 1000, breaker("https://other", later), []string{"bob"}},
			{"bob", 1000, breaker("https://slow", noon()), []string{"ada"}},
			{"ada", 1000, breaker("https://slow", later), []string{"ada", "bob"}},
			{"ada", 1000, fmt.Sprintf(`UPDATE deliveries SET due_at = %d`, later.UnixMicro()), []string{"ada", "bob"}},
			{"ada", 1000, `INSERT INTO pauses (user_id, url, by_user, paused_at) VALUES ('ada', 'slow', TRUE, 1)`, []string{"ada", "bob"}},
		} {
			for _, userID := range []string{"ada", "bob"} {
				s := subject(fmt.Sprint(i, userID), 1)
				s.UserID = userID
				create(t, db, s)
				try(db.ExhaustEvents(t.Context(), s.ID, noon(), studio.ReasonSchedule))(t)
				try(db.AddReplay(t.Context(), s.ID, exhausted(studio.EventFilter{SubjectID: s.ID, UserID: userID}), studio.IdempotencyKey{}, noon(), 9))(t)
			}
			db.Exec(t, numbers+fmt.Sprintf(`INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at)
				SELECT 'backlog' || n, '%s', 'https://slow', 'slow', 1, 1 FROM numbers WHERE n <= %d`, test.user, test.backlog), test.change)
			for range 2 {
				try(db.ReplayNext(t.Context(), noon()))(t)
			}
			var replayed []string
			for _, event := range studiotest.Events(t, db, studio.EventFilter{State: studio.EventPending}) {
				replayed = append(replayed, event.UserID)
			}
			if slices.Sort(replayed); !slices.Equal(replayed, test.replayed) {
				t.Errorf("%d. replayed are events of %v, want %v", i, replayed, test.replayed)
			}
			db.Exec(t, `DELETE FROM deliveries`, `DELETE FROM replays`, `DELETE FROM events`, `DELETE FROM breakers`)
		}
	})
}

// The counts of large replays leave connections to the other queries.
func TestStore_CountReplay_runsFewAtOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		var running, most atomic.Int64
		db.Intercept(func(run func() error) error {
			for n := running.Add(1); ; {
				if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			defer running.Add(-1)
			return run()
		})
		concurrently(repeat(20, func(int) {
			if _, err := db.CountReplay(t.Context(), exhausted(studio.EventFilter{UserID: "ada"}), noon()); err != nil {
				t.Error(err)
			}
		})...)
		if n := most.Load(); n > 2 {
			t.Errorf("%d counts run at once, want up to 2", n)
		}
	})
}

// A replay continues after a process has ended between its batches, and while another one works it off. Each event is
// pending once, although the first ones have ended again by then.
func TestStore_Replay_continuesInAnotherProcess(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		const subjects, events = 80, 3
		db := studiotest.Open(t, dsn)
		check(t, db.CreateUser(t.Context(), user("ada")))
		for i := range subjects {
			id := fmt.Sprint("s", i)
			create(t, db, subject(id, events))
			try(db.ExhaustEvents(t.Context(), id, noon(), studio.ReasonSchedule))(t)
		}
		now := noon().Add(time.Hour)
		count := try(db.AddReplay(t.Context(), "r", exhausted(studio.EventFilter{UserID: "ada"}), studio.IdempotencyKey{}, now, 1))(t)
		_, err := db.AddReplay(t.Context(), "other", exhausted(studio.EventFilter{UserID: "ada"}), studio.IdempotencyKey{}, now, 1)
		wantError(t, err, studio.ErrTooManyReplays)
		sent := make(map[string][]int64) // by subject
		for unfinished := true; unfinished; {
			process := try(store.Open(t.Context(), dsn, store.Config{}))(t)
			next := try(process.ReplayNext(t.Context(), now))(t)
			unfinished = !next.IsZero()
			for _, due := range process.NextDue(t, store.DeliverAt) {
				for d, err := process.NextDelivery(t.Context(), due.SubjectID); err == nil; d, err = process.NextDelivery(t.Context(), due.SubjectID) {
					sent[due.SubjectID] = append(sent[due.SubjectID], d.Event.Sequence)
					check(t, recordAttempt(t.Context(), process, d.Event, studio.Attempt{At: now.Add(time.Minute)}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule}))
				}
			}
			check(t, process.Close())
		}
		total := 0
		for i := range subjects {
			id := fmt.Sprint("s", i)
			if !slices.Equal(sent[id], []int64{1, 2, 3}) {
				t.Errorf("the events %v of %s are sent", sent[id], id)
			}
			total += len(sent[id])
		}
		if count != subjects*events || total != subjects*events {
			t.Errorf("%d events are counted, %d sent", count, total)
		}
		try(db.AddReplay(t.Context(), "next", exhausted(studio.EventFilter{UserID: "ada"}), studio.IdempotencyKey{}, now.Add(time.Hour), 1))(t) // the first one is finished
	})
}
