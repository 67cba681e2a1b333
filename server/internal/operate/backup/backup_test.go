package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/s3test"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// machine is a database with its media, and backups of both.
type machine struct {
	*Backup
	t     *testing.T
	store *store.Store
	media *media.Store
	dir   string // of the media
	clock *studiotest.Clock
	log   *harness.Buffer
}

func newMachine(t *testing.T, place, dsn string, keys *keyring.Keyring) *machine {
	t.Helper()
	m := &machine{t: t, store: studiotest.Open(t, dsn), dir: t.TempDir(), clock: studiotest.NewClock(), log: &harness.Buffer{}}
	m.media = openMedia(t, m.dir)
	m.clock.Add(time.Since(m.clock.Now())) // files have times of the system clock
	scratch := ""
	if !m.store.Shared() {
		scratch = filepath.Join(t.TempDir(), "scratch")
	}
	m.Backup = try(Open(t.Context(), Config{
		Place: place, Scratch: scratch, Store: m.store, Media: m.media, Keys: keys,
		Logger: slog.New(slog.NewTextHandler(m.log, nil)), Now: m.clock.Now,
	}))(t)
	t.Cleanup(func() { check(t, m.Close()) })
	return m
}

func openMedia(t *testing.T, dir string) *media.Store {
	t.Helper()
	m := try(media.Open(t.Context(), media.Config{Bucket: "file:" + dir, Key: []byte("key")}))(t)
	t.Cleanup(func() { check(t, m.Close()) })
	return m
}

func (m *machine) write(key, content string) {
	m.t.Helper()
	check(m.t, m.media.Write(m.t.Context(), key, strings.NewReader(content)))
	check(m.t, os.Chtimes(filepath.Join(m.dir, key), time.Time{}, m.clock.Now()))
}

func (m *machine) addUser(id string) error {
	return m.store.CreateUser(m.t.Context(), studio.User{ID: id, Email: id + "@example.com", CreatedAt: m.clock.Now()})
}

// backUpAfter makes a backup after a time and returns its time.
func (m *machine) backUpAfter(d time.Duration) time.Time {
	m.t.Helper()
	m.clock.Add(d)
	try(m.backUp(m.t.Context()))(m.t)
	return m.Status().Last
}

// wantFailure fails the test unless a backup fails at a step and leaves no temporary files. It returns the error.
func (m *machine) wantFailure(step string) error {
	m.t.Helper()
	_, err := m.backUp(m.t.Context())
	if !strings.HasPrefix(fmt.Sprint(err), step+": ") {
		m.t.Errorf("error %v, want a failure of %s", err, step)
	}
	if _, err := os.Stat(m.cfg.Scratch); !errors.Is(err, fs.ErrNotExist) {
		m.t.Errorf("temporary files are left: %v", err)
	}
	return err
}

// keys returns the keys of a place.
func (m *machine) keys(prefix string) (keys []string) {
	m.t.Helper()
	check(m.t, m.place.ForEach(m.t.Context(), prefix, func(object bucket.Object) error {
		keys = append(keys, object.Key)
		return nil
	}))
	return keys
}

// eachPlace runs a test with a directory and with a bucket.
func eachPlace(t *testing.T, test func(t *testing.T, place string)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) { t.Parallel(); test(t, "file:"+t.TempDir()) })
	t.Run("bucket", func(t *testing.T) { t.Parallel(); test(t, inFolder(s3test.New(t))) })
}

func inFolder(bucket *s3test.Bucket) string {
	return strings.Replace(bucket.URL, "?", "/team/backups?", 1)
}

// Each record of a backup during writes has its file.
func TestBackup_duringWritesIsComplete(t *testing.T) {
	t.Parallel()
	place := "file:" + t.TempDir()
	m := newMachine(t, place, studiotest.NewSQLite(t), nil)
	var done atomic.Bool
	begun := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; !done.Load(); i++ {
			id := fmt.Sprintf("u%d", i)
			if err := errors.Join(m.media.Write(m.t.Context(), "results/"+id+"/out.mp4", strings.NewReader(id)), m.addUser(id)); err != nil {
				t.Error(err)
				return
			}
			if i == 20 {
				close(begun)
			}
		}
	})
	<-begun
	for range 3 {
		m.backUpAfter(time.Hour)
	}
	done.Store(true)
	writing.Wait()
	db, files := restoreAt(t, m, "latest", nil)
	n := 0
	for ; ; n++ {
		id := fmt.Sprintf("u%d", n)
		if _, err := db.UserByEmail(t.Context(), id+"@example.com"); err != nil {
			break
		}
		if content, err := files.ReadText(t.Context(), "results/"+id+"/out.mp4"); content != id {
			t.Errorf("the file of %s: %q, %v", id, content, err)
		}
	}
	if n < 20 {
		t.Errorf("%d users are restored", n)
	}
	if violations := try(db.Check(t.Context()))(t); len(violations) > 0 {
		t.Errorf("the restored database: %v", violations)
	}
}

func TestOpen_keepsBackupsAndMediaApart(t *testing.T) {
	t.Parallel()
	dir, bucket := t.TempDir(), s3test.New(t).URL
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(dir, link))
	for _, test := range []struct {
		media, place string
		want         error
	}{
		{"file:" + dir, "file:" + filepath.Join(dir, "backups"), ErrOverlap},
		{"file:" + filepath.Join(dir, "media"), "file:" + link, ErrOverlap},
		{"file:" + filepath.Join(dir, "media"), "file:" + filepath.Join(dir, "media-backups"), nil},
		{bucket, strings.Replace(bucket, "?", "/backups?", 1), ErrOverlap},
		{strings.Replace(bucket, "?", "/media?", 1), strings.Replace(bucket, "?", "/media/backups?", 1), ErrOverlap},
		{strings.Replace(bucket, "?", "/media?", 1), strings.Replace(bucket, "?", "/backups?", 1), nil},
		{bucket, "file:" + dir, nil},
	} {
		files := try(media.Open(t.Context(), media.Config{Bucket: test.media, Key: []byte("key")}))(t)
		if err := Check(t.Context(), test.place, files); !errors.Is(err, test.want) {
			t.Errorf("media %s, backups %s: %v", test.media, test.place, err)
		}
		check(t, files.Close())
	}
}

// The interval is an option of the place, which restoring ignores.
func TestSplitPlace_takesTheInterval(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]struct {
		bucket string
		every  time.Duration
		err    error
	}{
		"file:dir":           {"file:dir", time.Hour, nil},
		"file:dir?every=15m": {"file:dir", 15 * time.Minute, nil},
		"s3://bucket/team?endpoint=http%3A%2F%2Flocalhost%3A9000&every=168h&region=a": {
			"s3://bucket/team?endpoint=http%3A%2F%2Flocalhost%3A9000&region=a", 168 * time.Hour, nil,
		},
		"file:dir?region=a":          {err: ErrPlace},
		"s3://bucket?every=1h":       {err: ErrPlace}, // no prefix
		"gs://bucket/team?every=1h":  {err: ErrPlace},
		"file:dir?every=59s":         {err: ErrEvery},
		"file:dir?every=1h&every=2h": {err: ErrEvery},
		"file:dir?every=169h":        {err: ErrEvery},
	} {
		bucket, every, err := splitPlace(place)
		if bucket != want.bucket || err == nil && every != want.every || !errors.Is(err, want.err) {
			t.Errorf("%s is %q each %v (%v)", place, bucket, every, err)
		}
	}
}

// What was made while the clock was a year ahead delays no backup, takes no place of one, is named, and is not restored
// unless its whole time is given. What it marked as deleted is deleted in time.
func TestBackup_skipsWhatIsFromTheFuture(t *testing.T) {
	t.Parallel()
	place := "file:" + t.TempDir()
	m := newMachine(t, place, studiotest.NewSQLite(t), nil)
	const year = 365 * 24 * time.Hour
	addPoints := func(n int, every time.Duration) { // of backups that nobody restores
		for range n {
			m.clock.Add(every)
			check(t, m.place.Write(t.Context(), pointKey(m.clock.Now(), databaseExtension), strings.NewReader("")))
		}
	}
	m.cfg.Now = func() time.Time { defer m.clock.Add(-year); return m.clock.Now() }
	m.backUpAfter(2 * year) // the first backup, during which the clock is set right
	m.cfg.Now = m.clock.Now
	check(t, m.place.Erase(t.Context(), folder))
	m.write("results/1/out.mp4", "content")
	m.backUpAfter(0)
	check(t, m.media.Erase(t.Context(), "results/1/"))
	check(t, m.addUser("ada"))
	m.clock.Add(year)
	addPoints(29, time.Hour)
	last := m.backUpAfter(time.Hour)
	check(t, m.addUser("bob"))
	made := m.backUpAfter(-year - 29*time.Hour)
	if made != m.clock.Now().UTC().Truncate(time.Second) {
		t.Errorf("the latest backup is of %v", made)
	}
	if log := m.log.String(); strings.Count(log, "backups are skipped") != 1 || !strings.Contains(log, last.Format(timeFormat)) {
		t.Errorf("the log has not one line about %v: %s", last, log)
	}
	for at, want := range map[string]struct {
		time    time.Time
		skipped bool
	}{
		"latest":                            {made, true},
		last.Format(time.DateOnly):          {made, true},
		last.Add(year).Format("2006-01-02"): {made, true},
		last.Format(timeFormat):             {last, false},
		made.Format(timeFormat):             {made, false},
	} {
		restored, err := Restore(t.Context(), Restoration{
			Place: place, At: at, Database: "sqlite:" + filepath.Join(t.TempDir(), "studio.db"), Media: openMedia(t, t.TempDir()), Now: m.clock.Now,
		})
		if err != nil || restored.Time != want.time || strings.Contains(restored.Skipped, last.Format(timeFormat)) != want.skipped {
			t.Errorf("%s: %+v, %v", at, restored, err)
		}
	}
	_, err := Restore(t.Context(), Restoration{Place: place, At: "latest", Now: func() time.Time { return made.Add(-time.Hour * 24 * 365) }})
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), made.Format(timeFormat)) {
		t.Errorf("with a clock that is behind all backups: %v", err)
	}
	m.backUpAfter(24 * time.Hour) // marks what was deleted
	addPoints(5*7, 24*time.Hour)
	m.backUpAfter(24 * time.Hour)
	past, left := split(try(list(t.Context(), m.place))(t), m.clock.Now())
	if len(past) < 10 || len(left) == 0 || strings.Count(m.log.String(), "backups are skipped") != 1 {
		t.Errorf("kept are %d backups, and %d from the future", len(past), len(left))
	}
	if files := m.keys(mediaFolder); len(files) != 0 {
		t.Errorf("what was deleted five weeks ago is kept: %v", files)
	}
}

// An upload that breaks is no backup, nor is a snapshot that cannot be restored, here because of its version. They
// leave nothing, and are repeated.
func TestBackup_brokenOneDoesNotCount(t *testing.T) {
	t.Parallel()
	bucket := s3test.New(t)
	dsn := studiotest.NewSQLite(t)
	m := newMachine(t, inFolder(bucket), dsn, keyring.New())
	m.write("results/1/out.mp4", "content")
	m.backUpAfter(0)
	for want, fault := range map[string]interface{ Store(bool) }{"upload": &bucket.Cut, "place": &bucket.Down} {
		before := m.Status()
		fault.Store(true)
		m.clock.Add(time.Hour)
		_ = m.wantFailure(want)
		fault.Store(false)
		if n := len(m.keys(folder)); n != 1 || m.Status().Last != before.Last {
			t.Errorf("there are %d backups", n)
		}
	}
	if m.backUpAfter(time.Hour); len(m.keys(folder)) != 2 {
		t.Error("the backup is not repeated")
	}
	try(studiotest.OpenSQL(t, dsn).ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999999, 1)"))(t)
	m.clock.Add(time.Hour)
	if err := m.wantFailure("check"); !errors.Is(err, store.ErrNewer) || len(m.keys(folder)) != 2 {
		t.Errorf("the check fails with %v", err)
	}
	m.cfg.Keys = keyring.New() // after a lost key is reset, the copies in a place are lost, too
	if m.sealer.keys = m.cfg.Keys; !errors.Is(m.wantFailure("place"), keyring.ErrNoKey) {
		t.Error("a place is used with another key")
	}
}

func TestBackup_keepsWhatItNeedsAndWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := newMachine(t, "file:"+dir, studiotest.NewSQLite(t), nil)
	m.write("results/1/out.mp4", "deleted")
	m.write("results/2/out.mp4", "kept")
	foreign, half := filepath.Join(dir, "holiday.jpg"), filepath.Join(dir, "db", "2026-11-22T10:00:00Z.db.gz.18a.tmp")
	m.backUpAfter(0)
	for _, path := range []string{foreign, half, filepath.Join(m.dir, "holiday.jpg")} {
		check(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	m.backUpAfter(3 * time.Hour)
	check(t, m.media.Erase(t.Context(), "results/1/"))
	versions := func() int { return len(m.keys(mediaFolder)) }
	m.backUpAfter(time.Hour)
	if len(m.keys(goneFolder)) != 1 || versions() != 2 {
		t.Errorf("after it was deleted: %v", m.keys(""))
	}
	// Until no kept backup needs the file.
	for range 5 * 7 {
		deleted := versions() < 2
		if oldest := try(list(t.Context(), m.place))(t)[0].time; deleted && time.Since(oldest) > 0 && oldest.Before(m.Status().Began.Add(3*time.Hour)) {
			t.Fatalf("the file is gone, but the backup of %v needs it", oldest)
		}
		m.backUpAfter(24 * time.Hour)
		if deleted {
			break
		}
	}
	if left := m.keys(mediaFolder); len(left) != 1 || !strings.Contains(left[0], "results/2/") {
		t.Errorf("the files are %v", left)
	}
	m.backUpAfter(24 * time.Hour)
	if gone := m.keys(goneFolder); len(gone) != 0 {
		t.Errorf("%v are left", gone)
	}
	try(os.Stat(foreign))(t)
	if _, err := os.Stat(half); err == nil {
		t.Error("half an upload is left")
	}
	other := newMachine(t, "file:"+dir, studiotest.NewEmptySQLite(t), nil)
	if _, err := other.backUp(t.Context()); !errors.Is(err, media.ErrOther) {
		t.Errorf("another installation: %v", err)
	}
}

// Backups of PostgreSQL contain the media, and daemons share them.
func TestBackup_ofPostgreSQLCopiesMedia(t *testing.T) {
	t.Parallel()
	place := "file:" + t.TempDir()
	m := newMachine(t, place, studiotest.NewPostgres(t), nil)
	m.write("results/1/out.mp4", "content")
	m.backUpAfter(0)
	files := openMedia(t, t.TempDir())
	restored := try(Restore(t.Context(), Restoration{Place: place, At: "latest", Media: files, Now: m.clock.Now}))(t)
	if content, err := files.ReadText(t.Context(), "results/1/out.mp4"); content != "content" || restored.Database || restored.Files != 1 {
		t.Errorf("restored are %q, %v, %v", content, err, restored)
	}
}

// The mount point of a disk that was unmounted is an empty directory, or is gone. Neither backups nor, if it is the
// disk of the media, the marks of deleted files are written then, also after a restart.
func TestBackup_isNotWrittenWhileADiskIsNotMounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := newMachine(t, "file:"+dir, studiotest.NewEmptySQLite(t), nil)
	guarded := try(media.Open(t.Context(), media.Config{Bucket: "file:" + m.dir, Key: []byte("key"), Places: m.store}))(t)
	defer func() { check(t, guarded.Close()) }()
	m.cfg.Media = guarded
	m.write("results/1/out.mp4", "content")
	m.backUpAfter(0)
	before := m.keys("")
	for _, unmounted := range []string{dir, m.dir} {
		for _, empty := range []bool{false, true} {
			check(t, os.Rename(unmounted, unmounted+".elsewhere"))
			if empty {
				check(t, os.Mkdir(unmounted, 0o700))
			}
			again := try(Open(t.Context(), m.cfg))(t)
			for _, b := range []*Backup{m.Backup, again} {
				m.clock.Add(2 * time.Hour)
				if _, err := b.backUp(t.Context()); !errors.Is(err, media.ErrGone) {
					t.Errorf("without %s: %v", unmounted, err)
				}
			}
			check(t, again.Close())
			if left, _ := os.ReadDir(unmounted); len(left) > 0 {
				t.Errorf("%v are written", left)
			}
			check(t, os.RemoveAll(unmounted))
			check(t, os.Rename(unmounted+".elsewhere", unmounted))
			if after := m.keys(""); !slices.Equal(after, before) {
				t.Errorf("there are %v, want %v", after, before)
			}
		}
	}
	m.backUpAfter(0)
	check(t, os.RemoveAll(dir))
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, media.Mark), nil, 0o600)) // begins there again
	m.backUpAfter(2 * time.Hour)
}
