package studio

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

const cursorMACSize = 16

// SubjectFilter chooses subjects of a user. An empty Status or AvatarID does not restrict.
type SubjectFilter struct {
	UserID   string
	Kind     Kind
	Status   Status
	AvatarID string // of videos
}

// Position is a place in a list that is ordered by time of creation, newest first.
type Position struct {
	CreatedAt time.Time
	ID        string
}

// SubjectPage is a part of a list of subjects.
type SubjectPage struct {
	Subjects []Subject
	Next     string // the cursor of the next page; "" on the last one
}

// List returns up to limit subjects, newest first, after the page that the cursor came with; ""
// starts at the newest. [ErrCursor] when the cursor does not belong to this list.
func (s *Service) List(ctx context.Context, filter SubjectFilter, cursor string, limit int) (SubjectPage, error) {
	var after Position
	if cursor != "" {
		var ok bool
		if after, ok = s.parseCursor(filter.list(), cursor); !ok {
			return SubjectPage{}, ErrCursor
		}
	}
	subjects, err := s.Store.Subjects(ctx, filter, after, limit+1) // one more tells whether there is a next page
	if err != nil || len(subjects) <= limit {
		return SubjectPage{Subjects: subjects}, err
	}
	last := subjects[limit-1]
	return SubjectPage{
		Subjects: subjects[:limit], Next: s.cursor(filter.list(), Position{last.CreatedAt, last.ID}),
	}, nil
}

// list names the list of a filter for its cursors.
func (f SubjectFilter) list() string {
	return strings.Join([]string{f.UserID, string(f.Kind), string(f.Status), f.AvatarID}, "\x00")
}

// cursor names a position. It is authenticated together with the list, so that one of another
// user or another list is refused, and so is one that was changed.
func (s *Service) cursor(list string, p Position) string {
	position := append(binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMicro())), p.ID...)
	return base64.RawURLEncoding.EncodeToString(append(s.cursorMAC(list, position), position...))
}

func (s *Service) parseCursor(list, cursor string) (p Position, ok bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(data) < cursorMACSize+8 {
		return p, false
	}
	mac, position := data[:cursorMACSize], data[cursorMACSize:]
	if !hmac.Equal(mac, s.cursorMAC(list, position)) {
		return p, false
	}
	micros := int64(binary.BigEndian.Uint64(position)) //nolint:gosec // the bits that cursor wrote
	return Position{time.UnixMicro(micros).UTC(), string(position[8:])}, true
}

func (s *Service) cursorMAC(list string, position []byte) []byte {
	mac := hmac.New(sha256.New, s.CursorKey)
	_, _ = mac.Write([]byte(list + "\x00" + string(position))) // does not fail
	return mac.Sum(nil)[:cursorMACSize]
}
