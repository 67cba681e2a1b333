package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	eventsPath = Path + "/events"
	// inputTimeFormat is the format of an <input type="datetime-local">. The console uses it for UTC.
	inputTimeFormat = "2006-01-02T15:04"
)

// eventsView is the page that lists events.
type eventsView struct {
	pager

	Query  url.Values // the filter as form values
	Kinds  []kind
	States []studio.EventState
	Events []eventRow
	Live   string // the path of the stream; "" for pages that do not change
}

// Replayable reports whether one of the events can be replayed.
func (v eventsView) Replayable() bool { return slices.ContainsFunc(v.Events, eventRow.Replayable) }

// eventRow is an event in a list.
type eventRow struct {
	studio.EventRecord

	Type      string        // as in the notification
	Announced studio.Status // the state that the notification is about
}

func newEventRow(event studio.EventRecord) eventRow {
	var body struct {
		EventType string `json:"event_type"`
		Data      struct {
			Status studio.Status `json:"status"`
		} `json:"data"`
	}
	_ = json.Unmarshal(event.Body, &body) // the service has encoded it
	return eventRow{event, body.EventType, body.Data.Status}
}

// Name returns the title of the subject, or a text for subjects without one.
func (v eventRow) Name() string {
	kind := kindOf(v.Kind)
	if v.Deleted {
		return "Deleted " + kind.Singular
	}
	return kind.name(v.Title)
}

// SubjectPath returns the path of the page of the subject, or "" if it is deleted.
func (v eventRow) SubjectPath() string {
	if v.Deleted {
		return ""
	}
	return kindOf(v.Kind).pathOf(v.SubjectID)
}

// Receiver returns the host and path of the URL, or "" if there is none.
func (v eventRow) Receiver() string {
	u, err := url.Parse(v.URL)
	if err != nil {
		return ""
	}
	return u.Host + u.EscapedPath()
}

// Replayable reports whether the event can be replayed.
func (v eventRow) Replayable() bool {
	return !v.Deleted && (v.State == studio.EventExhausted || v.State == studio.EventDelivered)
}

// Ended returns why the event is exhausted, or "".
func (v eventRow) Ended() string { return reasons[v.Reason] }

// eventFilter returns the filter in the values of a query or a form.
func eventFilter(s session, values url.Values) (studio.EventFilter, error) {
	filter := studio.EventFilter{
		UserID: s.ID, SubjectID: strings.TrimSpace(values.Get("subject")), Kind: studio.Kind(values.Get("kind")), State: studio.EventState(values.Get("state")),
	}
	if filter.State != studio.NoEventState && !slices.Contains(studio.EventStates(), filter.State) || filter.Kind != "" && kindOf(filter.Kind).Path == "" {
		return filter, studio.ErrNotFound
	}
	for name, to := range map[string]*time.Time{"from": &filter.From, "to": &filter.To} {
		if text := values.Get(name); text != "" {
			at, err := time.Parse(inputTimeFormat, text)
			if err != nil {
				return filter, &server.Error{Status: http.StatusBadRequest, Detail: "A time must have the form 2026-01-12T09:30."}
			}
			*to = at
		}
	}
	return filter, nil
}

// filterValues returns the values that eventFilter reads.
func filterValues(query url.Values) url.Values {
	return filtersOf(query, "state", "kind", "subject", "from", "to")
}

func (c *Console) listEvents(ctx context.Context, s session, query url.Values) (eventsView, error) {
	values, cursor := filterValues(query), query.Get("cursor")
	v := eventsView{Query: values, Kinds: kinds(), States: studio.EventStates()}
	filter, err := eventFilter(s, values)
	if err != nil {
		return v, err
	}
	page, err := c.cfg.Studio.Events(ctx, filter, studio.NewestFirst, cursor, pageSize, false)
	if err != nil {
		return v, err
	}
	for _, event := range page.Events {
		v.Events = append(v.Events, newEventRow(event))
	}
	if cursor == "" {
		v.Live = eventsPath + "/live?" + values.Encode()
	}
	v.pager = newPager(eventsPath, values, cursor, page.Next)
	return v, nil
}

func (c *Console) events(w http.ResponseWriter, r *http.Request, s session) error {
	v, err := c.listEvents(r.Context(), s, r.URL.Query())
	if err != nil {
		return err
	}
	return c.render(w, r, http.StatusOK, "events", view{Title: "Events", Section: eventsPath, Data: v})
}

func (c *Console) eventsLive(w http.ResponseWriter, r *http.Request, s session) error {
	query := filterValues(r.URL.Query())
	if _, err := eventFilter(s, query); err != nil {
		return err
	}
	return c.stream(w, r, s, func(ctx context.Context) (fragment []byte, next time.Time, err error) {
		v, err := c.listEvents(ctx, s, query)
		if err != nil {
			return nil, next, err
		}
		recent := time.Now().Add(-time.Minute) // an attempt that is due for longer waits for something else
		for _, event := range v.Events {       // there is no event about an attempt
			if at := event.NextAt; at.After(recent) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		fragment, err = c.renderFragment("event-rows", v)
		return fragment, next, err
	})
}

// eventView is the page of one event.
type eventView struct {
	eventRow

	Attempts []studio.Attempt
	Payload  string
}

func (c *Console) event(w http.ResponseWriter, r *http.Request, s session) error {
	filter := studio.EventFilter{UserID: s.ID, ID: r.PathValue("id")}
	page, err := c.cfg.Studio.Events(r.Context(), filter, studio.NewestFirst, "", 1, true)
	if err != nil {
		return err
	}
	if len(page.Events) == 0 {
		return studio.ErrNotFound
	}
	event := page.Events[0]
	v := eventView{eventRow: newEventRow(event), Attempts: page.Attempts[event.ID], Payload: string(event.Body)}
	return c.render(w, r, http.StatusOK, "event", view{Title: "Event about " + v.Name(), Section: eventsPath, Data: v})
}

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
