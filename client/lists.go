package client

import (
	"context"
	"iter"
	"slices"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Avatars iterates over the avatars of the user, newest first. It requests pages as needed and passes
// options to each request. [ListAvatarsParams] is an option that sets filters, the page size and the first
// cursor. An error is the last item. Each avatar that exists during the whole iteration is returned once,
// even if others are created or deleted.
func (c *Client) Avatars(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Avatar, error] {
	params := paramsOf[ListAvatarsParams](newCall(c, options))
	after := func(cursor string) CallOption {
		page := params
		page.Cursor = &cursor
		return page
	}
	return pages(options, after, func(options []CallOption) ([]gen.Avatar, *string, error) {
		list, err := c.ListAvatars(ctx, options...)
		if err != nil {
			return nil, nil, err
		}
		return list.Data, list.NextCursor, nil
	})
}

// Videos iterates over the videos made from avatars of the user. It works like [Client.Avatars], with the
// option [ListVideosParams].
func (c *Client) Videos(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Video, error] {
	params := paramsOf[ListVideosParams](newCall(c, options))
	after := func(cursor string) CallOption {
		page := params
		page.Cursor = &cursor
		return page
	}
	return pages(options, after, func(options []CallOption) ([]gen.Video, *string, error) {
		list, err := c.ListVideos(ctx, options...)
		if err != nil {
			return nil, nil, err
		}
		return list.Data, list.NextCursor, nil
	})
}

// Lipsyncs iterates over the lip-syncs of the user. It works like [Client.Avatars], with the option
// [ListLipsyncsParams].
func (c *Client) Lipsyncs(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Lipsync, error] {
	params := paramsOf[ListLipsyncsParams](newCall(c, options))
	after := func(cursor string) CallOption {
		page := params
		page.Cursor = &cursor
		return page
	}
	return pages(options, after, func(options []CallOption) ([]gen.Lipsync, *string, error) {
		list, err := c.ListLipsyncs(ctx, options...)
		if err != nil {
			return nil, nil, err
		}
		return list.Data, list.NextCursor, nil
	})
}

// Events iterates over the events of the user, newest first unless [ListEventsParams] sets another order. It works like
// [Client.Avatars], with the option ListEventsParams.
func (c *Client) Events(ctx context.Context, options ...CallOption) iter.Seq2[*gen.EventRecord, error] {
	params := paramsOf[ListEventsParams](newCall(c, options))
	after := func(cursor string) CallOption {
		page := params
		page.Cursor = &cursor
		return page
	}
	return pages(options, after, func(options []CallOption) ([]gen.EventRecord, *string, error) {
		list, err := c.ListEvents(ctx, options...)
		if err != nil {
			return nil, nil, err
		}
		return list.Data, list.NextCursor, nil
	})
}

// Endpoints iterates over the webhook URLs of the user. It works like [Client.Avatars], with the option
// [ListEndpointsParams].
func (c *Client) Endpoints(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Endpoint, error] {
	params := paramsOf[ListEndpointsParams](newCall(c, options))
	after := func(cursor string) CallOption {
		page := params
		page.Cursor = &cursor
		return page
	}
	return pages(options, after, func(options []CallOption) ([]gen.Endpoint, *string, error) {
		list, err := c.ListEndpoints(ctx, options...)
		if err != nil {
			return nil, nil, err
		}
		return list.Data, list.NextCursor, nil
	})
}

// pages iterates over the records of all pages. The function read requests a page with options, and after
// returns the option for the page at a cursor.
func pages[T any](
	options []CallOption, after func(cursor string) CallOption, read func([]CallOption) (data []T, next *string, err error),
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, last := options, ""; ; {
			data, next, err := read(page)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range data {
				if !yield(&data[i], nil) {
					return
				}
			}
			if next == nil || *next == "" || *next == last { // a repeated cursor would never end
				return
			}
			last = *next
			page = append(slices.Clip(options), after(last))
		}
	}
}
