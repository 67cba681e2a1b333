package studio

import (
	"cmp"
	"context"
	"fmt"
)

// EventPage is a page of a list of events.
type EventPage struct {
	Events   []EventRecord
	Attempts map[string][]Attempt // by the IDs of events; nil unless asked for
	Next     string               // cursor of the next page; "" on the last page
}

// Events returns up to limit events of the user of a filter, with a cursor as in [Service.List]. If attempts is true,
// it also returns the attempts to deliver them. In the order [OldestFirst], an event that is recorded later is on a
// later page.
//
// The error is [ErrRange] if the range of the filter ends before it begins, and [ErrCursor] if the cursor is not one of
// this user, filter and order.
func (s *Service) Events(
	ctx context.Context, filter EventFilter, order EventOrder, cursor string, limit int, attempts bool,
) (EventPage, error) {
	if err := filter.checkRange(); err != nil {
		return EventPage{}, err
	}
	order, filter.WorkspaceID = cmp.Or(order, NewestFirst), onlyWorkspace(ctx)
	var page EventPage
	var err error
	page.Events, page.Next, err = readPage(s, filter.list(order), cursor, func(after Position) ([]EventRecord, bool, error) {
		return s.Store.Events(ctx, filter, order, after, limit)
	}, func(e EventRecord) Position { return Position{e.CreatedAt, e.ID} })
	if err != nil || !attempts {
		return page, err
	}
	ids := make([]string, len(page.Events))
	for i, event := range page.Events {
		ids[i] = event.ID
	}
	page.Attempts, err = s.Store.Attempts(ctx, ids...)
	return page, err
}

// list identifies the list of a filter in its cursors.
func (f EventFilter) list(order EventOrder) string {
	return string(frame("events", f.UserID, string(order), f.ID, f.SubjectID, string(f.Kind), string(f.State),
		fmt.Sprint(f.From.UnixMicro()), fmt.Sprint(f.To.UnixMicro()), f.WorkspaceID))
}

// checkRange returns [ErrRange] if the range of creation times ends before it begins.
func (f EventFilter) checkRange() error {
	if !f.From.IsZero() && !f.To.IsZero() && f.From.After(f.To) {
		return ErrRange
	}
	return nil
}
