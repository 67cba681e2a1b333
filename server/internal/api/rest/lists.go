package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// defaultLimit is the number of records on a page if the request has no limit.
const defaultLimit = 20

// ListAvatars serves GET /v1/avatars/list.
func (a *API) ListAvatars(
	ctx context.Context, request gen.ListAvatarsRequestObject,
) (gen.ListAvatarsResponseObject, error) {
	p := request.Params
	filter := studio.SubjectFilter{Kind: studio.Avatar, Status: studio.Status(value(p.Status)), Title: value(p.Title)}
	avatars, next, err := list(ctx, a.studio, filter, p.Cursor, p.Limit, a.avatar)
	return gen.ListAvatars200JSONResponse{Data: avatars, NextCursor: next}, err
}

// ListVideos serves GET /v1/avatars/list_inferences.
func (a *API) ListVideos(ctx context.Context, request gen.ListVideosRequestObject) (gen.ListVideosResponseObject, error) {
	p := request.Params
	filter := studio.SubjectFilter{Kind: studio.Video, Status: studio.Status(value(p.Status)), Title: value(p.Title), AvatarID: value(p.AvatarID)}
	videos, next, err := list(ctx, a.studio, filter, p.Cursor, p.Limit, a.video)
	return gen.ListVideos200JSONResponse{Data: videos, NextCursor: next}, err
}

// ListLipsyncs serves GET /v1/lipsync/list.
func (a *API) ListLipsyncs(
	ctx context.Context, request gen.ListLipsyncsRequestObject,
) (gen.ListLipsyncsResponseObject, error) {
	p := request.Params
	filter := studio.SubjectFilter{Kind: studio.Lipsync, Status: studio.Status(value(p.Status)), Title: value(p.Title)}
	lipsyncs, next, err := list(ctx, a.studio, filter, p.Cursor, p.Limit, a.lipsync)
	return gen.ListLipsyncs200JSONResponse{Data: lipsyncs, NextCursor: next}, err
}

// list returns a page of the caller's records, converted with convert.
func list[T any](
	ctx context.Context, service *studio.Service, filter studio.SubjectFilter, cursor *string, limit *int,
	convert func(studio.Subject) T,
) (records []T, next *string, err error) {
	filter.UserID = caller(ctx)
	page, err := service.List(ctx, filter, value(cursor), pageSize(limit))
	records = make([]T, len(page.Subjects))
	for i, subject := range page.Subjects {
		records[i] = convert(subject)
	}
	return records, optional(page.Next), err
}

// pageSize returns the maximum number of records on a page.
func pageSize(limit *int) int {
	if limit == nil {
		return defaultLimit
	}
	return *limit
}

// value returns the value of an optional parameter, or the zero value if it is absent.
func value[T any](parameter *T) (v T) {
	if parameter != nil {
		v = *parameter
	}
	return v
}
