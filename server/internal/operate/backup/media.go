package backup

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// mediaFolder is the folder of the versions of files in a place. The key of a version is that of the file, the time
	// of its modification in nanoseconds, and its size, because a rendering may overwrite a result.
	mediaFolder = "media/"
	// goneFolder has an empty file for each version that is no longer in the media, with the time when that was seen.
	goneFolder = "gone/"

	copies      = 8         // concurrent copies of files
	copyTimeout = time.Hour // for one file
)

// version is a copy of a file in a place.
type version struct {
	key      string // of the copy
	file     string // key of the file
	modified int64
}

func versionKey(object bucket.Object, extension string) string {
	return fmt.Sprintf("%s%s@%d-%d%s", mediaFolder, object.Key, object.Modified.UnixNano(), object.Size, extension)
}

// parseVersion parses the key of a version. ok is false for all other keys.
func parseVersion(key string) (v version, ok bool) {
	file, suffix, ok := splitKey(key, mediaFolder)
	if !ok {
		return v, false
	}
	modified, size, _ := strings.Cut(strings.TrimSuffix(suffix, sealedExtension), "-")
	at, err := strconv.ParseInt(modified, 10, 64)
	_, sizeErr := strconv.ParseInt(size, 10, 64)
	return version{key, file, at}, err == nil && sizeErr == nil
}

// parseGone parses the key of a file that marks a version as gone. ok is false for all other keys.
func parseGone(key string) (versionKey string, at time.Time, ok bool) {
	name, suffix, ok := splitKey(key, goneFolder)
	if !ok {
		return "", at, false
	}
	seconds, err := strconv.ParseInt(suffix, 10, 64)
	return mediaFolder + name, time.Unix(seconds, 0), err == nil
}

// splitKey splits a key in a folder at its last @.
func splitKey(key, folder string) (name, suffix string, ok bool) {
	name, ok = strings.CutPrefix(key, folder)
	i := strings.LastIndexByte(name, '@')
	if !ok || i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// versions is a set of keys. It stores hashes, because there may be millions of keys. Each set has another seed, so a
// collision defers the copy of a file to the next backup.
type versions[V any] struct {
	seed maphash.Seed
	m    map[uint64]V
}

func newVersions[V any]() versions[V] { return versions[V]{maphash.MakeSeed(), make(map[uint64]V)} }

func (s versions[V]) set(key string, value V) { s.m[maphash.String(s.seed, key)] = value }

func (s versions[V]) get(key string) (value V, ok bool) {
	value, ok = s.m[maphash.String(s.seed, key)]
	return value, ok
}

// copyMedia copies the files of the service that the place lacks. It returns the versions that are in the media now.
func (b *Backup) copyMedia(ctx context.Context) (live versions[struct{}], err error) {
	have := newVersions[struct{}]()
	if err := b.place.ForEach(ctx, mediaFolder, func(object bucket.Object) error {
		have.set(object.Key, struct{}{})
		return nil
	}); err != nil {
		return live, err
	}
	live = newVersions[struct{}]()
	copying, ctx := errgroup.WithContext(ctx)
	copying.SetLimit(copies)
	add := func(object bucket.Object) error {
		if strings.HasSuffix(object.Key, bucket.Temporary) {
			return nil // being written
		}
		key := versionKey(object, b.sealer.extension())
		live.set(key, struct{}{})
		if _, ok := have.get(key); !ok {
			copying.Go(func() error { return b.copyFile(ctx, object.Key, key) })
		}
		return ctx.Err()
	}
	for _, folder := range []string{studio.ResultFolder, studio.UploadFolder} { // beside them may be files of others
		if err = b.cfg.Media.ForEach(ctx, folder+"/", add); err != nil {
			break
		}
	}
	if failed := copying.Wait(); failed != nil { // which has ended the listing
		err = failed
	}
	return live, err
}

// copyFile copies a file to the place. A file that was deleted in the meantime is not copied.
func (b *Backup) copyFile(ctx context.Context, from, to string) error {
	err := transfer(ctx, b.cfg.Media, from, b.place, to, func(r io.Reader) (io.Reader, error) { return b.sealer.seal(to, r) })
	if errors.Is(err, studio.ErrNotFound) {
		err = nil
	}
	return err
}

// transfer copies a file from a bucket to another one, through a filter.
func transfer(ctx context.Context, source *media.Store, from string, target *media.Store, to string, filter func(io.Reader) (io.Reader, error)) (err error) {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	content, err := source.Open(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	filtered, err := filter(content)
	if err != nil {
		return err
	}
	return target.Write(ctx, to, filtered)
}

// sweep removes what the place no longer needs: points that retention does not keep, versions that were gone before the
// oldest kept point, and what killed processes left of uploads. It keeps everything that is not of a backup, and points
// from the future: if the clock of this machine was set back, they are the backups that exist.
func (b *Backup) sweep(ctx context.Context, points []point, live versions[struct{}]) error {
	keeps := make(map[string]bool, len(points))
	now := b.cfg.Now()
	past, future := split(points, now)
	oldest := now // if the clock was set back during the first backup, all points are from the future
	for _, p := range append(future, kept(past)...) {
		keeps[p.key] = true
		if p.time.Before(oldest) {
			oldest = p.time
		}
	}
	gone := newVersions[time.Time]()
	if err := b.place.ForEach(ctx, goneFolder, func(object bucket.Object) error {
		if key, at, ok := parseGone(object.Key); ok && !ahead(at, now) {
			if known, _ := gone.get(key); at.After(known) { // a clock may have been behind
				gone.set(key, at)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return b.place.Sweep(ctx, sweepGrace, func(ctx context.Context, key string) (bool, error) {
		if _, ok := parsePoint(key, 0); ok {
			return keeps[key], nil
		}
		if version, at, ok := parseGone(key); ok {
			_, returned := live.get(version)
			return !returned && !at.Before(oldest) && !ahead(at, now), nil
		}
		if _, ok := parseVersion(key); ok {
			if _, ok := live.get(key); ok {
				return true, nil
			}
			at, ok := gone.get(key)
			if !ok {
				return true, b.place.Write(ctx, fmt.Sprintf("%s%s@%d", goneFolder, strings.TrimPrefix(key, mediaFolder), now.Unix()), strings.NewReader(""))
			}
			return !at.Before(oldest), nil
		}
		isOurs := strings.HasPrefix(key, folder) || strings.HasPrefix(key, mediaFolder) || strings.HasPrefix(key, goneFolder)
		return !isOurs || !strings.HasSuffix(key, bucket.Temporary), nil
	})
}
