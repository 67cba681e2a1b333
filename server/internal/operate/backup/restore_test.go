package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"filippo.io/age"
	"github.com/gofrs/flock"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// restoreAt restores a backup on a new machine and returns its database and media.
func restoreAt(t *testing.T, m *machine, at string, keys *keyring.Keyring) (*store.Store, *media.Store) {
	t.Helper()
	dsn, files := "sqlite:"+filepath.Join(t.TempDir(), "new", "studio.db"), openMedia(t, t.TempDir())
	try(Restore(t.Context(), Restoration{Place: m.cfg.Place, At: at, Database: dsn, Media: files, Keys: keys, Now: m.clock.Now}))(t)
	left := try(filepath.Glob(strings.TrimPrefix(dsn, "sqlite:") + ".*"))(t)
	if len(left) > 1 { // the lock
		t.Errorf("%v are left", left)
	}
	return studiotest.Open(t, dsn), files
}

func TestRestore_returnsRecordsAndFilesAsTheyWere(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, place string) {
		const result, deleted = "results/1/out.mp4", "uploads/2/in.jpg"
		keys := keyring.New()
		m := newMachine(t, place, studiotest.NewSQLite(t), keys)
		check(t, m.addUser("ada"))
		m.write(result, "first")
		m.write(deleted, "picture")
		first := m.backUpAfter(time.Minute)
		check(t, m.addUser("bob"))
		m.clock.Add(time.Minute)
		m.write(result, "second!")
		check(t, m.media.Erase(t.Context(), deleted))
		second := m.backUpAfter(time.Hour)
		if m.backUpAfter(0) != second {
			t.Error("a backup was made before it was due")
		}
		for at, want := range map[string]map[string]string{
			first.Format(timeFormat):         {"users": "ada", result: "first", deleted: "picture"},
			first.Format("2006-01-02T15:04"): {"users": "ada", result: "first", deleted: "picture"},
			"latest":                         {"users": "ada bob", result: "second!"},
		} {
			db, files := restoreAt(t, m, at, keys)
			for _, id := range []string{"ada", "bob"} {
				if _, err := db.UserByEmail(t.Context(), id+"@example.com"); (err == nil) != strings.Contains(want["users"], id) {
					t.Errorf("%s: user %s: %v", at, id, err)
				}
			}
			for _, key := range []string{result, deleted} {
				if content, err := files.ReadText(t.Context(), key); want[key] != "" && (content != want[key] || err != nil) {
					t.Errorf("%s: %s is %q, %v", at, key, content, err)
				}
			}
		}
		for _, key := range m.keys("") { // neither the database nor a file is readable
			content, err := m.place.ReadText(t.Context(), key)
			if check(t, err); strings.Contains(content, "picture") || strings.HasPrefix(content, "SQLite") {
				t.Errorf("%s is not encrypted", key)
			}
		}
		check(t, m.place.Write(t.Context(), pointKey(time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), databaseExtension), strings.NewReader("")))
		check(t, m.place.Write(t.Context(), mediaFolder+result+"@9-0", strings.NewReader("forged")))
		_, files := restoreAt(t, m, "latest", keys)
		if content, err := files.ReadText(t.Context(), result); content != "second!" {
			t.Errorf("with a forged file: %q, %v", content, err)
		}
		restoring := filepath.Join(t.TempDir(), "studio.db")
		other := flock.New(restoring + ".restore.lock")
		try(other.TryLock())(t)
		defer func() { check(t, other.Close()) }()
		for name, r := range map[string]struct {
			Restoration
			want error
		}{
			"another restore":   {Restoration{Place: place, At: "latest", Keys: keys, Database: "sqlite:" + restoring}, store.ErrInUse},
			"another key":       {Restoration{Place: place, At: "latest", Keys: keyring.New()}, keyring.ErrNoKey},
			"no key":            {Restoration{Place: place, At: "latest"}, keyring.ErrNoKey},
			"an earlier time":   {Restoration{Place: place, At: "2020-01-01", Keys: keys}, ErrNone},
			"no time":           {Restoration{Place: place, At: "noon", Keys: keys}, ErrTime},
			"no place":          {Restoration{Place: "s3://bucket", At: "latest", Keys: keys}, ErrPlace},
			"a plain backup":    {Restoration{Place: place, At: "2021-01-01", Keys: keys}, ErrPlain},
			"a missing place":   {Restoration{Place: "file:" + filepath.Join(t.TempDir(), "typo"), At: "latest"}, fs.ErrNotExist},
			"a database before": {Restoration{Place: place, At: "latest", Keys: keys, Database: "sqlite:" + m.cfg.Scratch}, fs.ErrExist},
		} {
			if r.Database == "" {
				r.Database = "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
			} else {
				check(t, os.WriteFile(m.cfg.Scratch, nil, 0o600))
			}
			r.Media, r.Now = openMedia(t, t.TempDir()), m.clock.Now
			if _, err := Restore(t.Context(), r.Restoration); !errors.Is(err, r.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// forger is a recipient that writes the key of a file of an installation as plain text.
type forger string

func (f forger) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	return []*age.Stanza{{Type: stanzaType, Args: []string{string(f)}, Body: fileKey}}, nil
}

// A damaged file costs this file, and a damaged database only this backup.
func TestRestore_findsDamage(t *testing.T) {
	t.Parallel()
	for _, keys := range []*keyring.Keyring{nil, keyring.New()} {
		dir := t.TempDir()
		m := newMachine(t, "file:"+dir, studiotest.NewSQLite(t), keys)
		check(t, m.addUser("ada"))
		for i, content := range []string{"whole", "content", "content", "content"} {
			m.write(fmt.Sprintf("results/%d/out.mp4", i+1), content)
		}
		first := m.backUpAfter(0)
		second := m.backUpAfter(time.Hour)
		point := filepath.Join(dir, pointKey(second, databaseExtension+m.sealer.extension()))
		content := try(os.ReadFile(point))(t)
		content[len(content)/2] ^= 1
		check(t, os.WriteFile(point, content, 0o600))
		check(t, os.WriteFile(filepath.Join(dir, mediaFolder, "stray"), nil, 0o600)) // is no copy
		var damaged []string
		if keys != nil {
			if _, err := m.sealer.open("cut"+sealedExtension, iotest.ErrReader(fs.ErrPermission)); errors.Is(err, store.ErrDamaged) {
				t.Errorf("a file that cannot be read: %v", err)
			}
			damaged = []string{"results/2/out.mp4", "results/3/out.mp4", "results/4/out.mp4"}
			copies := m.keys(mediaFolder)
			check(t, os.Truncate(filepath.Join(dir, copies[1]), 250))
			var forged bytes.Buffer
			w := try(age.Encrypt(&forged, forger(m.sealer.installation)))(t)
			try(io.WriteString(w, "forged"))(t)
			check(t, w.Close())
			check(t, os.WriteFile(filepath.Join(dir, copies[2]), forged.Bytes(), 0o600))
			moved := filepath.Join(dir, copies[3])
			check(t, errors.Join(os.Rename(moved, moved+".age"), os.Symlink(moved+".age", moved)))
		}
		for at, want := range map[time.Time]error{first: nil, second: store.ErrDamaged} {
			dsn, files := "sqlite:"+filepath.Join(t.TempDir(), "studio.db"), openMedia(t, t.TempDir())
			restored, err := Restore(t.Context(), Restoration{Place: "file:" + dir + "?every=15m", At: at.Format(timeFormat), Database: dsn, Media: files, Keys: keys, Now: m.clock.Now})
			if !errors.Is(err, want) || !slices.Equal(restored.Damaged, damaged) || restored.Files != 4-len(damaged) ||
				err != nil && !strings.Contains(err.Error(), filepath.Base(point)) {
				t.Errorf("%v: %v, %+v", at, err, restored)
			}
			if content, err := files.ReadText(t.Context(), "results/1/out.mp4"); content != "whole" {
				t.Errorf("the file is %q, %v", content, err)
			}
		}
	}
}
