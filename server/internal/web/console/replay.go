package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// replayView is the page that asks to confirm a replay.
type replayView struct {
	Count     int64 // the events that are selected
	Delivered int64 // the delivered events that can be selected, too
	Form      url.Values
}

// replay shows how many events the form selects, by their IDs or by a filter. If the form has the field confirmed,
// replay sends them again.
func (c *Console) replay(w http.ResponseWriter, r *http.Request, s session) error {
	form := r.PostForm
	selected, err := selectedEvents(s, form)
	if err != nil {
		return err
	}
	confirmed := form.Get("confirmed")
	if confirmed == string(studio.EventDelivered) {
		selected.States = []studio.EventState{studio.EventExhausted, studio.EventDelivered}
	}
	if confirmed != "" {
		if key := form.Get("key"); key != "" {
			selected.IdempotencyKey = key + " " + confirmed
		}
		_, err := c.cfg.Studio.ReplayEvents(r.Context(), selected)
		return redirect(w, r, eventsPath+"?done=replayed", err)
	}
	v := replayView{Form: filterValues(form)}
	for _, name := range []string{"id", "select"} {
		v.Form[name] = form[name]
	}
	v.Form.Set("key", rand.Text())
	selected.DryRun = true
	v.Count, err = c.cfg.Studio.ReplayEvents(r.Context(), selected)
	if err == nil && selected.States == nil {
		selected.States = []studio.EventState{studio.EventDelivered}
		v.Delivered, err = c.cfg.Studio.ReplayEvents(r.Context(), selected)
	}
	if err != nil && !errors.Is(err, studio.ErrReplayEmpty) {
		return err
	}
	return c.render(w, r, http.StatusOK, "replay", view{Title: "Replay", Section: eventsPath, Data: v})
}

// selectedEvents returns the events that a form selects. The States are nil if the user has not selected a state.
func selectedEvents(s session, form url.Values) (selected studio.Replay, err error) {
	if form.Get("select") != "filter" {
		ids := form["id"]
		return studio.Replay{
			Filter: studio.EventFilter{UserID: s.ID}, EventIDs: ids[:min(len(ids), pageSize)], // a page has no more events
			States: []studio.EventState{studio.EventExhausted, studio.EventDelivered},
		}, nil
	}
	if selected.Filter, err = eventFilter(s, form); err != nil {
		return selected, err
	}
	switch state := selected.Filter.State; state {
	case studio.NoEventState:
	case studio.EventExhausted, studio.EventDelivered:
		selected.States = []studio.EventState{state}
	default:
		return selected, studio.ErrNotFound
	}
	if selected.Filter.From.IsZero() && selected.Filter.To.IsZero() {
		selected.Filter.From = time.Unix(0, 0) // a replay needs a range
	}
	return selected, nil
}
