package client

import (
	"context"
	"iter"
	"slices"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Avatars ranges over the avatars of the user, newest first. It asks for a page when it needs one,
// with the options given, of which [ListAvatarsParams] filters, sets the size of a page and where to
// begin. An error ends it. Avatars that are created or deleted meanwhile do not disturb the others.
func (c *Client) Avatars(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Avatar, error] {
	params := paramsOf[ListAvatarsParams](newCall(c.doer, options))
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

// Videos ranges over the videos made from avatars of the user as [Client.Avatars] does over avatars;
// see [ListVideosParams].
func (c *Client) Videos(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Video, error] {
	params := paramsOf[ListVideosParams](newCall(c.doer, options))
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

// Lipsyncs ranges over the lip-syncs of the user as [Client.Avatars] does over avatars; see
// [ListLipsyncsParams].
func (c *Client) Lipsyncs(ctx context.Context, options ...CallOption) iter.Seq2[*gen.Lipsync, error] {
	params := paramsOf[ListLipsyncsParams](newCall(c.doer, options))
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

// pages ranges over the records of all pages. read reads a page, the first one with the options of
// the caller; after is the option that leads to the page of a cursor.
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
			if next == nil || *next == "" || *next == last { // the same cursor again would never end
				return
			}
			last = *next
			page = append(slices.Clip(options), after(last))
		}
	}
}
