package clienttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

const defaultLimit = 20

// filter selects subjects. An empty status or avatarID matches all.
type filter struct {
	userID   string
	kind     kind
	status   string
	avatarID string
}

func (f filter) chooses(s *subject) bool {
	return s.userID == f.userID && s.kind == f.kind && !s.deleted() && (f.status == "" || f.status == s.status) &&
		(f.avatarID == "" || f.avatarID == s.avatarID)
}

// position is where a page of a list ended.
type position struct {
	of        filter
	createdAt time.Time
	id        string
}

func (p position) compare(s *subject) int {
	return cmp.Or(s.createdAt.Compare(p.createdAt), strings.Compare(s.id, p.id))
}

func (s *studio) ListAvatars(ctx context.Context, r gen.ListAvatarsRequestObject) (gen.ListAvatarsResponseObject, error) {
	f := filter{caller(ctx), avatar, string(value(r.Params.Status)), ""}
	avatars, next, err := list(s, f, r.Params.Cursor, r.Params.Limit, (*subject).asAvatar)
	if err != nil {
		return nil, err
	}
	return gen.ListAvatars200JSONResponse{Data: avatars, NextCursor: next}, nil
}

func (s *studio) ListVideos(ctx context.Context, r gen.ListVideosRequestObject) (gen.ListVideosResponseObject, error) {
	f := filter{caller(ctx), video, string(value(r.Params.Status)), value(r.Params.AvatarID)}
	videos, next, err := list(s, f, r.Params.Cursor, r.Params.Limit, (*subject).asVideo)
	if err != nil {
		return nil, err
	}
	return gen.ListVideos200JSONResponse{Data: videos, NextCursor: next}, nil
}

func (s *studio) ListLipsyncs(ctx context.Context, r gen.ListLipsyncsRequestObject) (gen.ListLipsyncsResponseObject, error) {
	f := filter{caller(ctx), lipsync, string(value(r.Params.Status)), ""}
	lipsyncs, next, err := list(s, f, r.Params.Cursor, r.Params.Limit, (*subject).asLipsync)
	if err != nil {
		return nil, err
	}
	return gen.ListLipsyncs200JSONResponse{Data: lipsyncs, NextCursor: next}, nil
}

// list returns a page of the subjects that the filter selects, newest first.
func list[T any](s *studio, f filter, cursor *string, limit *int, convert func(*subject) T) (page []T, next *string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after, known := s.cursors[value(cursor)]
	if cursor != nil && (!known || after.of != f) {
		return nil, nil, &server.Error{
			Status: http.StatusBadRequest, Code: "cursor_invalid", Detail: "The request does not match the interface.",
			Violations: []gen.Violation{{Pointer: "query:cursor", Keyword: "cursor", Detail: "must be a next_cursor of the same list"}},
		}
	}
	var chosen []*subject
	for _, subject := range s.subjects {
		if f.chooses(subject) && (cursor == nil || after.compare(subject) < 0) {
			chosen = append(chosen, subject)
		}
	}
	slices.SortFunc(chosen, func(a, b *subject) int { return position{f, a.createdAt, a.id}.compare(b) })
	size := defaultLimit
	if limit != nil {
		size = *limit
	}
	if len(chosen) > size {
		chosen = chosen[:size]
		next = new(rand.Text())
		s.cursors[*next] = position{f, chosen[size-1].createdAt, chosen[size-1].id}
	}
	page = make([]T, len(chosen))
	for i, subject := range chosen {
		page[i] = convert(subject)
	}
	return page, next, nil
}

// value returns the value of an optional parameter, or the zero value.
func value[T any](parameter *T) (v T) {
	if parameter != nil {
		v = *parameter
	}
	return v
}
