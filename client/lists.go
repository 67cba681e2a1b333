package client

import (
	"context"
	"iter"
	"net/http"
	"slices"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Avatars iterates over the avatars of the user, newest first. It requests pages as needed and passes
// options to each request. [ListAvatarsParams] is an option that sets filters, the page size and the first
// cursor. An error is the last item. Each avatar that exists during the whole iteration is returned once,
// even if others are created or deleted.
func (c *Client) Avatars(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Avatar, error] {
	return pages(ctx, c, options, c.ListAvatars, func(l *gen.AvatarList) ([]gen.Avatar, *string) { return l.Data, l.NextCursor },
		func(p ListAvatarsParams, cursor *string) ListAvatarsParams { p.Cursor = cursor; return p })
}

// Videos iterates over the videos made from avatars of the user. It works like [Client.Avatars], with the
// option [ListVideosParams].
func (c *Client) Videos(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Video, error] {
	return pages(ctx, c, options, c.ListVideos, func(l *gen.VideoList) ([]gen.Video, *string) { return l.Data, l.NextCursor },
		func(p ListVideosParams, cursor *string) ListVideosParams { p.Cursor = cursor; return p })
}

// Lipsyncs iterates over the lip-syncs of the user. It works like [Client.Avatars], with the option
// [ListLipsyncsParams].
func (c *Client) Lipsyncs(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Lipsync, error] {
	return pages(ctx, c, options, c.ListLipsyncs, func(l *gen.LipsyncList) ([]gen.Lipsync, *string) { return l.Data, l.NextCursor },
		func(p ListLipsyncsParams, cursor *string) ListLipsyncsParams { p.Cursor = cursor; return p })
}

// Events iterates over the events of the user, newest first unless [ListEventsParams] sets another order. It works like
// [Client.Avatars], with the option ListEventsParams.
func (c *Client) Events(ctx context.Context, options ...CallOption) iter.Seq2[*gen.EventRecord, error] {
	return pages(ctx, c, options, c.ListEvents, func(l *gen.EventList) ([]gen.EventRecord, *string) { return l.Data, l.NextCursor },
		func(p ListEventsParams, cursor *string) ListEventsParams { p.Cursor = cursor; return p })
}

// Endpoints iterates over the webhook URLs of the user. It works like [Client.Avatars], with the option
// [ListEndpointsParams].
func (c *Client) Endpoints(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Endpoint, error] {
	return pages(ctx, c, options, c.ListEndpoints, func(l *gen.EndpointList) ([]gen.Endpoint, *string) { return l.Data, l.NextCursor },
		func(p ListEndpointsParams, cursor *string) ListEndpointsParams { p.Cursor = cursor; return p })
}

// pages iterates over the records of all pages. list requests a page, data returns its records and the next cursor, and
// at returns the parameters for the page at a cursor.
func pages[P CallOption, L, T any](
	ctx context.Context, c *Client, options []CallOption, list func(context.Context, ...CallOption) (*L, error),
	data func(*L) (data []T, next *string), at func(params P, cursor *string) P,
) iter.Seq2[*T, error] {
	params := paramsOf[P](newCall(c, options))
	return func(yield func(*T, error) bool) {
		for page, last, kept, n := options, "", "", 0; ; n++ {
			got, err := list(ctx, page...)
			if err != nil {
				yield(nil, err)
				return
			}
			records, next := data(got)
			for i := range records {
				if !yield(&records[i], nil) {
					return
				}
			}
			if next == nil || *next == "" {
				return
			}
			if *next == last || *next == kept { // which would never end
				yield(nil, &Error{StatusCode: http.StatusOK, note: "the cursors of the list repeat"})
				return
			}
			if last = *next; n&(n-1) == 0 { // ever rarer, so that a circle of any length is noticed
				kept = last
			}
			page = append(slices.Clip(options), at(params, &last))
		}
	}
}
