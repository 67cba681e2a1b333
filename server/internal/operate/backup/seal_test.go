package backup

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Whoever can write to a place, and uploads what is then encrypted there, can exchange the files of a backup, rename
// them, and add those of another installation with the same key file. Each file is refused under each key that is not
// its own.
func TestSeal_refusesEachFileUnderEachOtherKey(t *testing.T) {
	t.Parallel()
	keys, now := keyring.New(), time.Now()
	const upload = "uploads/2/file.db"
	// Two installations have files with the same keys.
	newFilled := func() (*machine, map[string]string) {
		m := newMachine(t, "file:"+t.TempDir(), studiotest.NewEmptySQLite(t), keys)
		m.clock.Add(now.Sub(m.clock.Now()))
		for _, content := range []string{"first", "again"} {
			m.write("results/1/out.mp4", content)
			m.write(upload, content)
			m.backUpAfter(time.Hour)
		}
		check(t, m.media.Erase(t.Context(), upload))
		m.backUpAfter(3 * time.Hour)
		try(m.upload(t.Context(), "", pointKey(m.clock.Now(), mediaExtension+sealedExtension)))(t) // as of PostgreSQL
		files := make(map[string]string)
		for _, key := range append(m.keys(""), media.Mark) {
			file := try(m.place.Open(t.Context(), key))(t)
			content, err := io.ReadAll(file)
			check(t, errors.Join(err, file.Close()))
			files[key] = string(content)
		}
		return m, files
	}
	m, own := newFilled()
	_, foreign := newFilled()
	if all := slices.Sorted(maps.Keys(own)); len(all) != 1+4+4+3 || !slices.Equal(all, slices.Sorted(maps.Keys(foreign))) {
		t.Fatalf("the places have %v and %v", all, slices.Sorted(maps.Keys(foreign)))
	}
	// The content of a mark in gone is not read.
	targets := map[string]bool{media.Mark: true}
	for key := range own {
		if p, ok := parsePoint(key, 0); ok {
			targets[key] = true
			if !p.hasDatabase() { // beside the last database
				for _, shift := range []time.Duration{0, -30 * time.Minute, 365 * 24 * time.Hour} {
					targets[pointKey(p.time.Add(shift), databaseExtension+sealedExtension)] = true
				}
			}
		} else if v, ok := parseVersion(key); ok {
			targets[key], targets[strings.Replace(key, "@", "@9", 1)] = true, true
			targets[strings.Replace(key, v.file, "results/3/out.mp4", 1)] = true
		}
	}
	// refuse puts content under a key.
	refuse := func(to, content string) error {
		if to == media.Mark {
			check(t, m.place.Write(t.Context(), to, strings.NewReader(content)))
			_, err := m.backUp(t.Context())
			return err
		}
		dir, target := t.TempDir(), t.TempDir()
		place := openMedia(t, dir)
		check(t, place.Write(t.Context(), media.Mark, strings.NewReader(own[media.Mark])))
		check(t, place.Write(t.Context(), to, strings.NewReader(content)))
		p, isPoint := parsePoint(to, 0)
		if !isPoint {
			return (&sealer{keys: keys, installation: m.sealer.installation}).check(t.Context(), place, to)
		}
		database := filepath.Join(target, "studio.db")
		_, err := Restore(t.Context(), Restoration{
			Place: "file:" + dir, At: p.time.Format(timeFormat), Database: "sqlite:" + database, Media: openMedia(t, target), Keys: keys, Now: m.clock.Now,
		})
		if left, err := os.ReadDir(target); len(left) > 0 {
			t.Errorf("%s: %v are restored, %v", to, left, err)
		}
		return err
	}
	m.clock.Add(2 * time.Hour)
	for to := range targets {
		others := maps.Clone(own)
		others["that of the other installation"] = foreign[to]
		for from, content := range others {
			if content == own[to] || content == "" && to == media.Mark { // like one that was deleted
				continue
			}
			err := refuse(to, content)
			if err == nil || to != media.Mark && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s under the key %s: %v", from, to, err)
			}
		}
	}
	// The files of a whole backup are exchanged for a snapshot, or those of the other installation. The mark is gone.
	snapshot := ""
	for key, content := range own {
		if p, ok := parsePoint(key, 0); ok && p.hasDatabase() {
			snapshot = content
		}
	}
	check(t, m.place.Write(t.Context(), media.Mark, strings.NewReader(own[media.Mark])))
	for key := range own {
		if v, ok := parseVersion(key); ok {
			content := map[bool]string{true: foreign[key], false: snapshot}[v.file == upload]
			check(t, m.place.Write(t.Context(), key, strings.NewReader(content)))
		}
	}
	check(t, os.Remove(filepath.Join(strings.TrimPrefix(m.cfg.Place, "file:"), media.Mark)))
	target := t.TempDir()
	restored, err := Restore(t.Context(), Restoration{
		Place: m.cfg.Place, At: "latest", Media: openMedia(t, target), Database: "sqlite:" + filepath.Join(t.TempDir(), "studio.db"), Keys: keys, Now: m.clock.Now,
	})
	check(t, err)
	if left, err := os.ReadDir(target); restored.Files > 0 || len(restored.Damaged) != 2 || len(left) != 1 {
		t.Errorf("%+v are restored, and there are %v, %v", restored, left, err)
	}

	check(t, m.place.Write(t.Context(), media.Mark, strings.NewReader(own[media.Mark])))
	// A forged snapshot does not pass for the latest backup, so the next one is made.
	forged := m.clock.Now().Add(2 * time.Hour).Add(-time.Second)
	for _, extension := range []string{databaseExtension, databaseExtension + sealedExtension} {
		check(t, m.place.Write(t.Context(), pointKey(forged, extension), strings.NewReader(snapshot)))
	}
	if made := m.backUpAfter(2 * time.Hour); made != m.clock.Now().UTC().Truncate(time.Second) || !strings.Contains(m.log.String(), forged.Format(timeFormat)) {
		t.Errorf("the latest backup is of %v: %s", made, m.log)
	}
}
