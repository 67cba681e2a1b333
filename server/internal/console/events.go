package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/standardwebhooks"
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

	Query     url.Values // the filter as form values
	States    []studio.EventState
	Events    []eventRow
	Exhausted bool // whether the filter selects events that can be replayed
}

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
	return kindOf(v.Kind).Path + "/" + url.PathEscape(v.SubjectID)
}

// Receiver returns the host and path of the URL.
func (v eventRow) Receiver() string {
	u, err := url.Parse(v.URL)
	if err != nil {
		return ""
	}
	return u.Host + u.EscapedPath()
}

// Replayable reports whether the event can be replayed.
func (v eventRow) Replayable() bool {
	return v.State == studio.EventExhausted && v.Reason != studio.ReasonDeleted
}

// Ended returns why the event is exhausted, or "".
func (v eventRow) Ended() string { return reasons[v.Reason] }

// Result returns the result of the latest attempt, or "" if there is none.
func (v eventRow) Result() string {
	if v.Last.Number == 0 {
		return ""
	}
	return resultText(v.Last.Status, v.Last.Failure)
}

// eventFilter returns the filter in the values of a query or a form.
func eventFilter(s session, values url.Values) (studio.EventFilter, error) {
	filter := studio.EventFilter{UserID: s.ID, SubjectID: strings.TrimSpace(values.Get("subject")), State: studio.EventState(values.Get("state"))}
	if filter.State != studio.NoEventState && !slices.Contains(studio.EventStates(), filter.State) {
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

func (c *Console) events(w http.ResponseWriter, r *http.Request, s session) error {
	query := r.URL.Query()
	filter, err := eventFilter(s, query)
	if err != nil {
		return err
	}
	v := eventsView{Query: filterValues(query), States: studio.EventStates()}
	var after studio.Position
	if cursor := query.Get("cursor"); cursor != "" {
		last, err := c.findEvent(r, s, cursor)
		if errors.Is(err, studio.ErrNotFound) {
			err = studio.ErrCursor
		}
		if err != nil {
			return err
		}
		after = studio.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	events, more, err := c.cfg.Store.Events(r.Context(), filter, studio.NewestFirst, after, pageSize)
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = events[len(events)-1].ID
	}
	for _, event := range events {
		v.Events = append(v.Events, newEventRow(event))
	}
	if filter.State == studio.NoEventState || filter.State == studio.EventExhausted {
		n, err := c.cfg.Studio.ReplayEvents(r.Context(), replayOf(filter, true))
		if err != nil {
			return err
		}
		v.Exhausted = n > 0
	}
	v.pager = newPager(eventsPath, filterValues(query), query.Get("cursor"), next)
	c.render(w, r, http.StatusOK, "events", view{Title: "Events", Section: eventsPath, Data: v})
	return nil
}

// filterValues returns the values that eventFilter reads.
func filterValues(query url.Values) url.Values {
	values := make(url.Values)
	for _, name := range []string{"state", "subject", "from", "to"} {
		if text := query.Get(name); text != "" {
			values.Set(name, text)
		}
	}
	return values
}

func (c *Console) findEvent(r *http.Request, s session, id string) (studio.EventRecord, error) {
	event, err := c.cfg.Store.Event(r.Context(), id)
	if err == nil && event.UserID != s.ID {
		err = studio.ErrNotFound
	}
	return event, err
}

// eventView is the page of one event.
type eventView struct {
	eventRow

	DisplayURL string // without the query, which may contain a secret
	Attempts   []studio.Attempt
	Header     []property // of the latest attempt, or of one made now if there is none
	Payload    string
}

func (c *Console) event(w http.ResponseWriter, r *http.Request, s session) error {
	event, err := c.findEvent(r, s, r.PathValue("id"))
	if err != nil {
		return err
	}
	v := eventView{eventRow: newEventRow(event), DisplayURL: studio.WithoutQuery(event.URL), Payload: string(event.Body)}
	attempts, err := c.cfg.Store.Attempts(r.Context(), event.ID)
	if err != nil {
		return err
	}
	v.Attempts = attempts[event.ID]
	if v.Header, err = c.signedHeader(r, s, v); err != nil {
		return err
	}
	c.render(w, r, http.StatusOK, "event", view{Title: "Event about " + v.Name(), Section: eventsPath, Data: v})
	return nil
}

// signedHeader returns the header of the latest attempt, signed with the secrets that are valid now.
func (c *Console) signedHeader(r *http.Request, s session, v eventView) ([]property, error) {
	texts, err := c.cfg.Studio.WebhookSecrets(r.Context(), s.ID)
	if err != nil {
		return nil, err
	}
	secrets, err := standardwebhooks.ParseSecrets(texts)
	if err != nil {
		return nil, err
	}
	at := time.Now()
	if len(v.Attempts) > 0 {
		at = v.Attempts[len(v.Attempts)-1].At
	}
	header := make(http.Header)
	if err := standardwebhooks.Sign(header, v.ID, at, v.Body, secrets...); err != nil {
		return nil, err
	}
	header.Set(standardwebhooks.HeaderSequence, fmt.Sprint(v.Sequence))
	var properties []property
	for _, name := range []string{
		standardwebhooks.HeaderID, standardwebhooks.HeaderTimestamp, standardwebhooks.HeaderSequence, standardwebhooks.HeaderSignature,
	} {
		properties = append(properties, property{strings.ToLower(name), header.Get(name)})
	}
	return properties, nil
}

// replayView is the page that asks to confirm a replay.
type replayView struct {
	Count int64
	Form  url.Values
}

// replay shows how many events the form selects, by their ids or by a filter. If the form has the field
// confirmed, replay replays them.
func (c *Console) replay(w http.ResponseWriter, r *http.Request, s session) error {
	if err := parseForm(r); err != nil {
		return err
	}
	selected, err := selectedEvents(s, r.PostForm)
	if err != nil {
		return err
	}
	selected.DryRun = !r.PostForm.Has("confirmed")
	count, err := c.cfg.Studio.ReplayEvents(r.Context(), selected)
	if err != nil && !errors.Is(err, studio.ErrReplayEmpty) {
		return err
	}
	if r.PostForm.Has("confirmed") {
		http.Redirect(w, r, eventsPath+"?state=pending&done=replayed", http.StatusSeeOther)
		return nil
	}
	v := replayView{Count: count, Form: filterValues(r.PostForm)}
	for _, name := range []string{"id", "select"} {
		v.Form[name] = r.PostForm[name]
	}
	c.render(w, r, http.StatusOK, "replay", view{Title: "Replay", Section: eventsPath, Data: v})
	return nil
}

// selectedEvents returns the events that a form selects.
func selectedEvents(s session, form url.Values) (studio.Replay, error) {
	if form.Get("select") == "filter" {
		filter, err := eventFilter(s, form)
		return replayOf(filter, false), err
	}
	ids := form["id"]
	return studio.Replay{Filter: studio.EventFilter{UserID: s.ID}, EventIDs: ids[:min(len(ids), pageSize)]}, nil // a page has no more events
}

// replayOf returns a replay of all exhausted events of a filter.
func replayOf(filter studio.EventFilter, dryRun bool) studio.Replay {
	if filter.From.IsZero() && filter.To.IsZero() {
		filter.From = time.Unix(0, 0) // a replay needs a range
	}
	return studio.Replay{Filter: filter, DryRun: dryRun}
}
