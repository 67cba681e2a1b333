package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// testFlow returns the flow of the user ada to an origin.
func testFlow(origin int) store.Flow {
	return store.Flow{UserID: "ada", Origin: fmt.Sprintf("https://%d.example.com", origin)}
}

func TestStore_DueFlows_returnsTheEarliestTimeOfEachFlow(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i, origin := range []int{1, 2, 1, 3} {
			s := subject(fmt.Sprint(i), 1)
			s.WebhookURL = testFlow(origin).Origin + "/hooks"
			s.Events[0].CreatedAt = noon().Add(time.Duration(-i) * time.Hour)
			create(t, db, s)
		}
		next := nextDelivery(t, db, "3")
		check(t, recordAttempt(t.Context(), db, next.Event, studio.Attempt{At: noon()}, store.Outcome{State: studio.EventDelivered}))
		flows := try(db.DueFlows(t.Context(), nil))(t)
		want := []store.FlowDue{{Flow: testFlow(1), At: noon().Add(-2 * time.Hour)}, {Flow: testFlow(2), At: noon().Add(-time.Hour)}}
		slices.SortFunc(flows, func(a, b store.FlowDue) int { return a.At.Compare(b.At) })
		if !slices.Equal(flows, want) {
			t.Errorf("due is %v, want %v", flows, want)
		}
		if db.Shared() {
			flows := try(db.DueFlows(t.Context(), []int{store.Lane(testFlow(1).Origin)}))(t)
			if len(flows) != 1 || flows[0].Flow != testFlow(1) {
				t.Errorf("in the lane is due %v", flows)
			}
		}
	})
}

func TestStore_Deliveries_returnsTheFirstEventOfEachSubject(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i := range 3 {
			s := subject(fmt.Sprint(i), 2)
			s.WebhookURL = testFlow(i%2).Origin + "/hooks"
			s.Events[0].CreatedAt = noon().Add(time.Duration(-i) * time.Hour)
			create(t, db, s)
		}
		got := try(db.Deliveries(t.Context(), []store.DeliveryQuery{{Flow: testFlow(0), Limit: 5}, {Flow: testFlow(2), Limit: 5}, {Flow: testFlow(1), Limit: 1}}))(t)
		var ids []string // each after the index of its query
		for i, deliveries := range got {
			for _, d := range deliveries {
				ids = append(ids, fmt.Sprint(i, " ", d.Event.ID))
			}
		}
		if want := "[0 2-1 0 0-1 2 1-1]"; fmt.Sprint(ids) != want {
			t.Errorf("deliveries are %v, want %s", ids, want)
		}
	})
}

// Flows with more deliveries than a page, and more flows than a page, are all returned once, each with its earliest
// time.
func TestStore_DueFlows_readsInPages(t *testing.T) {
	t.Parallel()
	studiotest.EachDatabase(t, func(t *testing.T, db *store.Store) {
		many := strings.Replace(numbers, "5000", "11000", 1)
		const insert = `INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at) `
		db.Exec(t,
			many+insert+`SELECT 'a' || n, 'u1', 'https://a', '', 1, n FROM numbers`,
			many+insert+`SELECT 'b' || n, 'u1', 'https://b', '', 1, n FROM numbers WHERE n <= 10000`, // a whole page
			many+insert+`SELECT 'c' || n, 'u1', 'https://c', '', 1, n FROM numbers WHERE n <= 3`,
			many+insert+`SELECT 'd' || n, 'v' || n, 'https://d', '', 1, 1 FROM numbers`,
		)
		flows := try(db.DueFlows(t.Context(), nil))(t)
		different := make(map[store.Flow]bool)
		for _, flow := range flows {
			different[flow.Flow] = true
			if flow.At.UnixMicro() != 1 {
				t.Errorf("%+v", flow)
			}
		}
		if len(flows) != 11_003 || len(different) != 11_003 {
			t.Errorf("%d flows, %d different ones, want 11003", len(flows), len(different))
		}
	})
}
