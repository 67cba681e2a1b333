package media_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/s3test"
)

// place returns a Config for the files of a new installation.
func place(t *testing.T, bucket string) media.Config {
	t.Helper()
	return media.Config{Bucket: bucket, Key: []byte("key"), Places: studiotest.Open(t, studiotest.NewEmptySQLite(t))}
}

func open(t *testing.T, cfg media.Config) (*media.Store, error) {
	t.Helper()
	s, err := media.Open(t.Context(), cfg)
	if err == nil {
		t.Cleanup(func() { check(t, s.Close()) })
	}
	return s, err
}

// The daemon of another database erases nothing in a place that has an owner, not even if both started at once, nor is
// a place of backups taken for files.
func TestStore_isOfOneInstallation(t *testing.T) {
	t.Parallel()
	for _, bucket := range []string{"file:" + t.TempDir(), s3test.New(t).URL} {
		own, other := place(t, bucket), place(t, bucket)
		anybody := try(open(t, media.Config{Bucket: bucket, Key: []byte("key")}))(t)
		id := try(own.Places.InstallationID(t.Context()))(t)
		s := try(open(t, own))(t)
		check(t, s.Write(t.Context(), key, strings.NewReader("content")))
		for mark, want := range map[string]error{"files of " + id + "\n": nil, id: media.ErrOther, "sealed:1:": media.ErrOther} {
			check(t, anybody.Write(t.Context(), media.Mark, strings.NewReader(mark)))
			for cfg, want := range map[*media.Config]error{&own: want, &other: media.ErrOther} {
				if _, err := open(t, *cfg); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), bucket) {
					t.Errorf("%q: %v", mark, err)
				}
			}
		}
		check(t, anybody.Write(t.Context(), media.Mark, strings.NewReader("")))
		try(open(t, other))(t) // begins there again
		err := s.Sweep(t.Context(), -time.Hour, func(context.Context, string) (bool, error) { return false, nil })
		if text, _ := s.ReadText(t.Context(), key); !errors.Is(err, media.ErrOther) || text != "content" {
			t.Errorf("a sweep by the installation before: %v, left is %q", err, text)
		}
	}
}

// While a disk is not mounted, no call takes its directory for an empty one, and nothing is written there, also after a
// restart. When it is back, all is as before.
func TestStore_makesNoDirectoryAnewThatIsGone(t *testing.T) {
	t.Parallel()
	cfg := place(t, "file:"+filepath.Join(t.TempDir(), "mnt", "media"))
	dir := strings.TrimPrefix(cfg.Bucket, "file:")
	s := try(open(t, cfg))(t)
	const missing = "uploads/2/file.jpg"
	check(t, s.Write(t.Context(), key, strings.NewReader("content")))
	if known, err := cfg.Places.KnowsPlace(t.Context(), cfg.Bucket+"/"); !known {
		t.Errorf("the place is not known on other machines and in other containers: %v", err)
	}
	none := func(bucket.Object) error { return nil }
	calls := map[string]func() error{
		"Write":               func() error { return s.Write(t.Context(), missing, strings.NewReader("lost")) },
		"Erase":               func() error { return s.Erase(t.Context(), key) },
		"ForEach":             func() error { return s.ForEach(t.Context(), "", none) },
		"ForEach in a folder": func() error { return s.ForEach(t.Context(), "results/", none) },
		"Sweep": func() error {
			return s.Sweep(t.Context(), time.Hour, func(context.Context, string) (bool, error) { return true, nil })
		},
		"Open": func() error {
			_, err := s.ReadText(t.Context(), key)
			return err
		},
		"ServeFile": func() error {
			answer := httptest.NewRecorder()
			s.ServeFile(answer, httptest.NewRequest(http.MethodGet, "/", nil), key)
			if answer.Code >= http.StatusInternalServerError {
				return media.ErrGone
			}
			return nil
		},
	}
	for _, root := range []string{dir, filepath.Dir(dir)} { // that is not mounted
		for _, empty := range []bool{false, true} {
			check(t, os.Rename(root, root+".elsewhere"))
			if empty {
				check(t, os.Mkdir(root, 0o700))
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, media.ErrGone) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := open(t, cfg); !errors.Is(err, media.ErrGone) || !strings.Contains(err.Error(), dir) {
				t.Errorf("after a restart: %v", err)
			}
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("%v are made", left)
			}
			check(t, os.RemoveAll(root))
			check(t, os.Rename(root+".elsewhere", root))
			if err := calls["Open"](); err != nil {
				t.Errorf("when it is back: %v", err)
			}
		}
	}
	if _, err := s.Open(t.Context(), missing); !errors.Is(err, studio.ErrNotFound) {
		t.Errorf("a file that does not exist: %v", err)
	}
	try(open(t, cfg))(t)
	check(t, os.RemoveAll(dir))
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, media.Mark), nil, 0o600)) // begins there again
	s = try(open(t, cfg))(t)
	check(t, calls["Write"]())
	if _, err := open(t, media.Config{Bucket: cfg.Bucket + "2", Key: cfg.Key, Places: cfg.Places}); err != nil {
		t.Errorf("another directory: %v", err)
	}
	deep := media.Config{Bucket: cfg.Bucket + strings.Repeat("/d", (4090-len(dir))/2), Key: cfg.Key, Places: cfg.Places} // its files cannot be written
	_, err := open(t, deep)
	if known, _ := cfg.Places.KnowsPlace(t.Context(), deep.Bucket+"/"); known || err == nil || strings.Contains(err.Error(), "service is busy") {
		t.Errorf("a directory that cannot be marked is known, or the operator reads a text for users: %v", err)
	}
}
