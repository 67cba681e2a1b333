package store

import (
	"context"
	"errors"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// AddPlace adds a place in which the installation has files, such as a directory. It may be known.
func (s *Store) AddPlace(ctx context.Context, name string) error {
	return s.exec(ctx, `INSERT INTO places (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`, name)
}

// KnowsPlace reports whether AddPlace has added a place.
func (s *Store) KnowsPlace(ctx context.Context, name string) (bool, error) {
	var found int
	err := queryRow(ctx, s.engine, []any{&found}, `SELECT 1 FROM places WHERE name = $1`, name)
	if errors.Is(err, studio.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
