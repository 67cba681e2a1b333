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

// SubjectFilter selects subjects of a user. An empty Status, AvatarID or WorkspaceID selects all.
type SubjectFilter struct {
	UserID      string
	Kind        Kind
	Status      Status
	AvatarID    string // for videos
	WorkspaceID string // set by [Service.List]; see [OnlyWorkspace]
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
// "", it returns the first page. The error is [ErrCursor] if the cursor does not belong to this list.
func (s *Service) List(ctx context.Context, filter SubjectFilter, cursor string, limit int) (SubjectPage, error) {
	filter.WorkspaceID = onlyWorkspace(ctx)
	subjects, next, err := readPage(s, filter.list(), cursor, func(after Position) ([]Subject, bool, error) {
		return s.Store.Subjects(ctx, filter, after, limit)
	}, func(s Subject) Position { return Position{s.CreatedAt, s.ID} })
	return SubjectPage{subjects, next}, err
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
	return string(frame("subjects", f.UserID, string(f.Kind), string(f.Status), f.AvatarID, f.WorkspaceID))
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
