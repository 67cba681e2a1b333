package store

import (
	"context"
	"errors"
)

// maxPageBytes limits the texts in a page, whose lengths users choose. A page has at least one row.
const maxPageBytes = 256 << 10

// page is the beginning of a list.
type page[T any] struct {
	limit int // most rows
	rows  []T
	more  bool // whether rows follow
	bytes int
}

var errPageFull = errors.New("store: the page is full")

// query reads the page with a query for one row more than the limit. scan also returns the length of the row's texts.
func (p *page[T]) query(
	ctx context.Context, q querier, scan func(scan func(...any) error) (row T, bytes int, err error), query string, args ...any,
) error {
	err := q.query(ctx, func(columns func(...any) error) error {
		row, bytes, err := scan(columns)
		if err != nil {
			return err
		}
		if len(p.rows) == p.limit || p.bytes+bytes > maxPageBytes && len(p.rows) > 0 {
			p.more = true
			return errPageFull
		}
		p.rows, p.bytes = append(p.rows, row), p.bytes+bytes
		return nil
	}, query, args...)
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}
