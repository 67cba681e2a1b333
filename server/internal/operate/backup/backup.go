// Package backup copies the database and the media of a daemon to another place, and restores them from there. A place
// is a directory or a prefix of a bucket. Its layout is:
//
//	installation                      the id of the installation, encrypted if files are; see [media.Mark]
//	db/2026-11-22T10:00:00Z.db.gz     a snapshot of a SQLite database
//	db/2026-11-22T10:00:00Z.media     a backup of the media of a PostgreSQL database
//	media/KEY@MODIFIED-SIZE           a version of a file
//	gone/KEY@MODIFIED-SIZE@TIME       marks a version that was no longer in the media at a time
//
// Names of encrypted files end with .age. Such a file is bound to its whole name and to the installation. Files in gone
// are empty and not encrypted: whoever can write one can also delete the version. A backup is complete when its file in
// db is there, which is written last.
package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// placeTimeout bounds the first requests to a place, so that one that hangs is reported.
	placeTimeout = time.Minute
	// sweepGrace exceeds the time that an upload may take.
	sweepGrace = 2 * copyTimeout
)

// Intervals between backups.
const (
	defaultEvery = time.Hour
	minEvery     = time.Minute
	maxEvery     = 7 * 24 * time.Hour
)

// Errors of backups.
var (
	// ErrPlace means that the place has neither the form file:DIRECTORY nor s3://BUCKET/PREFIX.
	ErrPlace = errors.New("a place of backups must have the form file:DIRECTORY?every=1h or s3://BUCKET/PREFIX?region=…&every=1h")
	// ErrEvery means that the interval in the place is no duration or out of range.
	ErrEvery = errors.New("the option every of a place of backups must be a time from 1m to 168h, such as 15m")
	// ErrOverlap means that the place contains the media, or the other way around.
	ErrOverlap = errors.New("the place of backups and the media must not contain each other")
	// ErrPlain means that a backup is not encrypted although there are keys, so that anybody may have written it.
	ErrPlain = errors.New("the backup is not encrypted, so somebody else may have written it: give an earlier TIME, or remove this file")
	// ErrTime means that a text names no time.
	ErrTime = errors.New("the time of a backup must be latest, or in UTC and have the form 2006-01-02T15:04")
	// ErrNone means that the place has no complete backup of this time.
	ErrNone = errors.New("there is no backup of this time or before it")
)

// Config configures a [Backup]. Place, Scratch, Store, Media and Logger are required. A PostgreSQL
// database needs no Scratch.
type Config struct {
	// Place is file:DIRECTORY, which is created if needed, or s3://BUCKET/PREFIX with the options of a bucket in the
	// query. Nothing else may be there. The option every is the interval between backups, from one minute to 168 hours.
	// Default one hour. The name of a directory has no question mark.
	Place string
	// Scratch is the path of a directory for temporary files, which Run removes. It needs space for three databases.
	Scratch string
	Store   *store.Store
	Media   *media.Store
	// Keys encrypts the backups. If it is nil, they are not encrypted.
	Keys   *keyring.Keyring
	Logger *slog.Logger
	// Now returns the current time. Default [time.Now].
	Now func() time.Time
}

// Backup makes backups. It is safe for concurrent use.
type Backup struct {
	cfg    Config
	every  time.Duration
	sealer *sealer
	place  *media.Store
	status atomic.Pointer[studio.BackupStatus]

	skipped string // the backups that were logged by latest
}

// Open opens the place, which [Check] must accept. It sends no request, so a place that is down does not delay a start.
// The caller must call Close.
func Open(ctx context.Context, cfg Config) (*Backup, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	place, every, err := openPlace(ctx, cfg.Place, cfg.Now, func(dir string) error { return os.MkdirAll(dir, 0o700) })
	if err != nil {
		return nil, err
	}
	b := &Backup{cfg: cfg, every: every, sealer: &sealer{keys: cfg.Keys}, place: place}
	b.status.Store(&studio.BackupStatus{Every: every, Began: cfg.Now()})
	return b, nil
}

// openPlace opens a place. It first calls prepare if that is a directory.
func openPlace(ctx context.Context, place string, now func() time.Time, prepare func(dir string) error) (files *media.Store, every time.Duration, err error) {
	place, every, err = splitPlace(place)
	if dir, isFile := strings.CutPrefix(place, "file:"); isFile {
		err = prepare(dir)
	}
	if err != nil {
		return nil, 0, err
	}
	files, err = media.Open(ctx, media.Config{Bucket: place, Key: []byte(rand.Text()), Now: now}) // signs no URLs
	return files, every, err
}

// Check reports what is wrong with a place beside the media. It makes nothing and sends no request.
func Check(ctx context.Context, place string, files *media.Store) error {
	opened, _, err := openPlace(ctx, place, time.Now, func(string) error { return nil })
	if err != nil {
		return err
	}
	if opened.Overlaps(files) {
		err = ErrOverlap
	}
	return errors.Join(err, opened.Close())
}

// splitPlace returns the bucket and the interval of a place.
func splitPlace(place string) (bucket string, every time.Duration, err error) {
	location, query, _ := strings.Cut(place, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return "", 0, ErrPlace
	}
	every = defaultEvery
	if options.Has("every") {
		every, err = time.ParseDuration(options.Get("every"))
		if err != nil || len(options["every"]) > 1 || every < minEvery || every > maxEvery {
			return "", 0, ErrEvery
		}
		options.Del("every")
	}
	address, err := url.Parse(location)
	switch {
	case strings.HasPrefix(location, "file:") && len(options) == 0:
		return location, every, nil
	case err == nil && address.Scheme == "s3" && strings.Trim(address.Path, "/") != "":
		return location + "?" + options.Encode(), every, nil
	}
	return "", 0, ErrPlace
}

// Close closes the place.
func (b *Backup) Close() error { return b.place.Close() }

// backUp makes a backup if one is due, and returns when the next one is. Another daemon may have made the last one. An
// error names the step that failed.
func (b *Backup) backUp(ctx context.Context) (next time.Time, err error) {
	step := "place"
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", step, err)
		}
	}()
	points, err := b.open(ctx)
	if err != nil {
		return next, err
	}
	now := b.cfg.Now().UTC().Truncate(time.Second)
	last, err := b.latest(ctx, points, now)
	if err != nil {
		return next, err
	}
	b.succeeded(last)
	if next = last.time.Add(b.every); now.Before(next) {
		return next, nil
	}
	step = "snapshot"
	if err := os.RemoveAll(b.cfg.Scratch); err != nil { // left by a process that was killed
		return next, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.cfg.Scratch)) }()
	packed, key := "", pointKey(now, mediaExtension+b.sealer.extension())
	if !b.cfg.Store.Shared() {
		key = pointKey(now, databaseExtension+b.sealer.extension())
		if packed, err = b.snapshot(ctx, key); err != nil {
			return next, err
		}
		step = "check"
		if err := b.check(ctx, packed, key); err != nil {
			return next, err
		}
	}
	step = "media"
	live, err := b.copyMedia(ctx)
	if err != nil {
		return next, err
	}
	step = "upload"
	made, err := b.upload(ctx, packed, key)
	if err != nil {
		return next, err
	}
	b.succeeded(made)
	step = "sweep"
	return now.Add(b.every), b.sweep(ctx, append(points, made), live)
}

// latest returns the latest point that is not from the future and that this installation has encrypted. It logs the
// others.
func (b *Backup) latest(ctx context.Context, points []point, now time.Time) (last point, err error) {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	past, skipped := split(points, now)
	for len(past) > 0 {
		last = latest(past)
		if err = b.sealer.check(ctx, b.place, last.key); err == nil {
			break
		}
		if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, ErrPlain) && !errors.Is(err, keyring.ErrNoKey) {
			return last, err
		}
		past, skipped = slices.DeleteFunc(past, func(p point) bool { return p.key == last.key }), append(skipped, last)
		last = point{}
	}
	if text := names(skipped); text != b.skipped {
		if b.skipped = text; text != "" {
			b.cfg.Logger.WarnContext(ctx, "backups are skipped, which are from the future or not encrypted by this installation", "backups", text)
		}
	}
	return last, nil
}

// succeeded records the latest complete backup.
func (b *Backup) succeeded(p point) {
	status := b.Status()
	status.Last, status.Size = p.time, p.size
	b.status.Store(&status)
}

// open checks that the place belongs to this installation, and returns its points.
func (b *Backup) open(ctx context.Context) (points []point, err error) {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	id, err := b.cfg.Store.InstallationID(ctx)
	if err != nil {
		return nil, err
	}
	known, err := b.cfg.Store.KnowsPlace(ctx, b.place.Name())
	if err != nil {
		return nil, err
	}
	if err := b.place.Take(ctx, known, func(mark string) (string, error) {
		owner, err := openMark(mark, b.cfg.Keys)
		switch {
		case err == nil && mark != "" && owner != id:
			err = media.ErrOther
		case err == nil && (mark == "" || keyring.Sealed(mark) != (b.cfg.Keys != nil)):
			return b.cfg.Keys.Seal(id, sealedFor("", media.Mark)), nil
		}
		return "", err
	}); err != nil {
		return nil, err
	}
	if err := b.cfg.Store.AddPlace(ctx, b.place.Name()); err != nil {
		return nil, err
	}
	b.sealer.installation = id
	return list(ctx, b.place)
}

// openMark returns the id of the installation in the file that says to which one a place belongs, "" if it is empty.
func openMark(mark string, keys *keyring.Keyring) (installation string, err error) {
	if installation, err = keys.Open(mark, sealedFor("", media.Mark)); err != nil { // the key was lost and reset
		err = fmt.Errorf("set another place, as this one has backups with another key, or make its file %s empty if it is damaged: %w", media.Mark, err)
	}
	return installation, err
}

// list returns the points of a place.
func list(ctx context.Context, place *media.Store) (points []point, err error) {
	err = place.ForEach(ctx, folder, func(object bucket.Object) error {
		if p, ok := parsePoint(object.Key, object.Size); ok {
			points = append(points, p)
		}
		return nil
	})
	return points, err
}

// snapshot writes a snapshot of the database, packed for a key, and returns its path.
func (b *Backup) snapshot(ctx context.Context, key string) (packed string, err error) {
	if err := os.MkdirAll(b.cfg.Scratch, 0o700); err != nil {
		return "", err
	}
	snapshot, packed := filepath.Join(b.cfg.Scratch, "snapshot.db"), filepath.Join(b.cfg.Scratch, "packed")
	if err := b.cfg.Store.Backup(ctx, snapshot); err != nil {
		return "", err
	}
	return packed, errors.Join(b.sealer.pack(snapshot, packed, key), os.Remove(snapshot))
}

// check checks that a packed snapshot can be restored.
func (b *Backup) check(ctx context.Context, packed, key string) error {
	file, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return b.sealer.restore(ctx, key, file, filepath.Join(b.cfg.Scratch, "snapshot.db"), "sqlite:"+filepath.Join(b.cfg.Scratch, "check.db"))
}

// upload uploads a point: a packed snapshot, or if packed is "", one without a database.
func (b *Backup) upload(ctx context.Context, packed, key string) (made point, err error) {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	if packed == "" {
		content, err := b.sealer.seal(key, strings.NewReader(""))
		if err != nil {
			return made, err
		}
		made, _ = parsePoint(key, 0)
		return made, b.place.Write(ctx, key, content)
	}
	file, err := os.Open(packed)
	if err != nil {
		return made, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return made, err
	}
	made, _ = parsePoint(key, info.Size())
	return made, b.place.Write(ctx, key, file)
}
