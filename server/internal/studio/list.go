package studio

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// The uses of Config.Key.
const (
	cursorUse   = "cursor"
	endpointUse = "endpoint"
)

// A page of a list whose filter the store does not know is made of up to maxScans pages of scanSize records, because
// few of them may match. A page of the store is limited in bytes, too.
const (
	scanSize = 320
	maxScans = 10
)

// SubjectFilter selects subjects of a user. An empty Status, AvatarID, WorkspaceID or Title selects all.
type SubjectFilter struct {
	UserID      string
	Kind        Kind
	Status      Status
	AvatarID    string // for videos
	WorkspaceID string // set by [Service.List]; see [OnlyWorkspace]
	Title       string // a part of it, as [Service.List] compares titles; a store does not
}

// Position is a position in a list that is ordered by creation time, newest first.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// SubjectPage is a page of a list of subjects.
type SubjectPage struct {
	Subjects []Subject
	Next     string // cursor of the next page; "" on the last page
}

// List returns up to limit subjects, newest first, that follow the page with the given cursor. If cursor is
// "", it returns the first page. A title matches if it contains that of the filter, in any case; see [searchable]. A
// page of titles has fewer subjects than limit, or none, before the last page if few of the next 3200 subjects match.
// The error is [ErrCursor] if the cursor does not belong to this list.
func (s *Service) List(ctx context.Context, filter SubjectFilter, cursor string, limit int) (SubjectPage, error) {
	filter.WorkspaceID, filter.Title = onlyWorkspace(ctx), searchable(filter.Title)
	var selects func(Subject) bool
	if filter.Title != "" {
		selects = func(s Subject) bool { return hasTitle(s.Title, filter.Title) }
	}
	subjects, next, err := searchPages(s, filter.list(), cursor, limit, selects, func(after Position, limit int) ([]Subject, bool, error) {
		return s.Store.Subjects(ctx, filter, after, limit)
	}, func(s Subject) Position { return Position{s.CreatedAt, s.ID} })
	return SubjectPage{subjects, next}, err
}

// searchPages returns up to limit records that follow cursor and that selects selects, and the cursor of the next page.
// It reads several pages of the store, unless selects is nil.
func searchPages[T any](
	s *Service, list, cursor string, limit int, selects func(T) bool,
	read func(after Position, limit int) (page []T, more bool, err error), position func(T) Position,
) (found []T, next string, err error) {
	size, scans := scanSize, maxScans
	if selects == nil {
		size, scans = limit, 1
	}
	for next = cursor; scans > 0; scans-- {
		var page []T
		page, next, err = readPage(s, list, next, func(after Position) ([]T, bool, error) { return read(after, size) }, position)
		if err != nil {
			return nil, "", err
		}
		for i, record := range page {
			if len(found) == limit {
				return found, s.cursor(list, position(page[i-1])), nil
			}
			if selects == nil || selects(record) {
				found = append(found, record)
			}
		}
		if next == "" || len(found) == limit {
			break
		}
	}
	return found, next, nil
}

// readPage reads the page of a list that follows cursor, and returns the cursor of the next one.
func readPage[T any](
	s *Service, list, cursor string, read func(after Position) (page []T, more bool, err error), position func(T) Position,
) (page []T, next string, err error) {
	var after Position
	if cursor != "" {
		var ok bool
		if after, ok = s.parseCursor(list, cursor); !ok {
			return nil, "", ErrCursor
		}
	}
	page, more, err := read(after)
	if more {
		next = s.cursor(list, position(page[len(page)-1]))
	}
	return page, next, err
}

// list identifies the list of a filter in its cursors.
func (f SubjectFilter) list() string {
	return string(frame("subjects", f.UserID, string(f.Kind), string(f.Status), f.AvatarID, f.WorkspaceID, f.Title))
}

// cursor encodes a position. The cursor is authenticated together with the list, so that modified cursors and
// cursors of other users or lists are rejected.
func (s *Service) cursor(list string, p Position) string {
	position := append(binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMicro())), p.ID...)
	return base64.RawURLEncoding.EncodeToString(append(mac(s.Key, cursorUse, list, string(position)), position...))
}

func (s *Service) parseCursor(list, cursor string) (p Position, ok bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(data) < macSize+8 {
		return p, false
	}
	position := data[macSize:]
	if !hmac.Equal(data[:macSize], mac(s.Key, cursorUse, list, string(position))) {
		return p, false
	}
	micros := int64(binary.BigEndian.Uint64(position)) //nolint:gosec // the bits that cursor wrote
	return Position{time.UnixMicro(micros).UTC(), string(position[8:])}, true
}
