package store

import "context"

// AddPlace adds a place in which the installation has files, such as a directory. It may be known.
func (s *Store) AddPlace(ctx context.Context, name string) error {
	return s.exec(ctx, `INSERT INTO places (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`, name)
}

// KnowsPlace reports whether AddPlace has added a place.
func (s *Store) KnowsPlace(ctx context.Context, name string) (bool, error) {
	return exists(ctx, s.engine, `SELECT 1 FROM places WHERE name = $1`, name)
}
