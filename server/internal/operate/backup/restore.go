package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Restoration configures [Restore]. All fields but Keys are required.
type Restoration struct {
	// Place is the place of the backups. See [Config].
	Place string
	// At is "latest", or a second, minute, hour or day in UTC, such as 2026-11-22T10:00. The latest backup whose time
	// begins with it is restored, or otherwise the latest one before it. A backup from the future is skipped, unless At
	// is its whole time.
	At string
	// Database is the DSN of the database to create, which is not used if the backup has none.
	Database string
	// Media is where the files are restored.
	Media *media.Store
	// Keys decrypts the backup.
	Keys *keyring.Keyring
	// Now returns the current time.
	Now func() time.Time
}

// Restored is the result of [Restore].
type Restored struct {
	Time  time.Time
	Files int
	// Damaged has the keys of files that were not restored, because their copies are damaged.
	Damaged []string
	// Database reports whether the backup has a database. Backups of PostgreSQL have none.
	Database bool
	// Skipped has the times of later backups that are from the future, because they were made while a clock was ahead.
	Skipped string
}

// Restore restores the files of a backup and then its database. If it fails or is interrupted, it can be repeated.
// Errors are ErrPlace, ErrTime, ErrNone, ErrPlain, keyring.ErrNoKey, and those of [store.Restore].
func Restore(ctx context.Context, r Restoration) (result Restored, err error) {
	place, _, err := openPlace(ctx, r.Place, r.Now, func(dir string) error {
		_, err := os.Stat(dir) // otherwise it would be a place without backups
		return err
	})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	points, err := list(ctx, place)
	if err != nil {
		return result, fmt.Errorf("the place of the backups: %w", err)
	}
	p, skipped, err := find(points, r.At, r.Now())
	if err != nil {
		return result, err
	}
	result.Time, result.Database, result.Skipped = p.time, p.hasDatabase(), names(skipped)
	// The checks come first, because copying the files may take hours.
	var scratch string // the directory for temporary files
	if result.Database {
		var release func() error
		if scratch, release, err = reserve(r.Database); err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	sealer := &sealer{keys: r.Keys}
	mark, err := place.ReadText(ctx, media.Mark)
	if err != nil && !errors.Is(err, studio.ErrNotFound) {
		return result, err
	}
	if keyring.Sealed(mark) == (r.Keys != nil) { // otherwise anybody may have written it, or it is of later backups
		if sealer.installation, err = openMark(mark, r.Keys); err != nil {
			return result, err
		}
	}
	if err := sealer.check(ctx, place, p.key); err != nil {
		return result, fmt.Errorf("%s: %w", p.key, err)
	}
	if err := r.Media.Take(ctx, false, media.FilesOf(sealer.installation)); err != nil {
		return result, fmt.Errorf("the files: %w", err)
	}
	result.Files, result.Damaged, err = sealer.restoreMedia(ctx, place, p.time, r.Media)
	if err != nil || !result.Database {
		return result, err
	}
	content, err := place.Open(ctx, p.key)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return result, sealer.restore(ctx, p.key, content, filepath.Join(scratch, "snapshot.db"), r.Database)
}

// reserve makes the directory for the temporary files of a restore to a database. Until release removes it, the error
// of another reserve is [store.ErrInUse].
func reserve(dsn string) (scratch string, release func() error, err error) {
	scratch = strings.TrimPrefix(dsn, "sqlite:") + ".restore"
	if err := store.Vacant(dsn); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(filepath.Dir(scratch), 0o700); err != nil {
		return "", nil, err
	}
	lock := flock.New(scratch + ".lock")
	if locked, err := lock.TryLock(); err != nil || !locked {
		return "", nil, cmp.Or(err, store.ErrInUse)
	}
	release = func() error { return errors.Join(os.RemoveAll(scratch), lock.Close(), os.RemoveAll(lock.Path())) }
	// Another restore may have ended since, and a process that was killed may have left files.
	if err = errors.Join(store.Vacant(dsn), os.RemoveAll(scratch)); err == nil {
		err = os.Mkdir(scratch, 0o700)
	}
	if err != nil {
		return "", nil, errors.Join(err, release())
	}
	return scratch, release, nil
}

// check checks that a file is encrypted, if there are keys, and that it is the one that the installation wrote under
// its key.
func (s *sealer) check(ctx context.Context, place *media.Store, key string) error {
	if !s.accepts(key) {
		return ErrPlain
	}
	content, err := place.Open(ctx, key)
	if err != nil {
		return err
	}
	_, err = s.open(key, content)
	return errors.Join(err, content.Close())
}

// restore restores a packed snapshot, which it unpacks to a file, to a database.
func (s *sealer) restore(ctx context.Context, key string, content io.Reader, snapshot, dsn string) error {
	if err := s.unpack(key, content, snapshot); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return store.Restore(ctx, snapshot, dsn)
}

// restoreMedia restores each file as it was at a time, but damaged ones, and those whose copies are no files or were
// deleted meanwhile. A file that has no copy that is old enough was copied during the backup or later; its first copy
// is restored.
func (s *sealer) restoreMedia(ctx context.Context, place *media.Store, at time.Time, target *media.Store) (files int, damaged []string, err error) {
	chosen := make(map[string]version)
	if err := place.ForEach(ctx, mediaFolder, func(object bucket.Object) error {
		v, ok := parseVersion(object.Key)
		if !ok || !s.accepts(v.key) {
			return nil
		}
		// The keys of the versions of a file are listed by time.
		if _, known := chosen[v.file]; !known || v.modified <= at.UnixNano() {
			chosen[v.file] = v
		}
		return nil
	}); err != nil {
		return 0, nil, err
	}
	copying, ctx := errgroup.WithContext(ctx)
	copying.SetLimit(copies)
	var mu sync.Mutex
	for _, v := range chosen {
		copying.Go(func() error {
			err := transfer(ctx, place, v.key, target, v.file, func(r io.Reader) (io.Reader, error) { return s.open(v.key, r) })
			if errors.Is(err, store.ErrDamaged) || errors.Is(err, studio.ErrNotFound) {
				mu.Lock()
				defer mu.Unlock()
				damaged, err = append(damaged, v.file), nil
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", v.key, err)
			}
			return err
		})
	}
	err = copying.Wait()
	slices.Sort(damaged)
	return len(chosen) - len(damaged), damaged, err
}
