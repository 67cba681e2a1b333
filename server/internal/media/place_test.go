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
)

// While a disk is not mounted, no call takes its directory for an empty one, and nothing is written there, also after a
// restart. When it is back, all is as before.
func TestStore_makesNoDirectoryAnewThatIsGone(t *testing.T) {
	t.Parallel()
	cfg := media.Config{Bucket: "file:" + filepath.Join(t.TempDir(), "mnt", "media"), Key: []byte("key"), Places: studiotest.Open(t, studiotest.NewSQLite(t))}
	dir := strings.TrimPrefix(cfg.Bucket, "file:")
	open := func(cfg media.Config) (*media.Store, error) {
		s, err := media.Open(t.Context(), cfg)
		if err == nil {
			t.Cleanup(func() { check(t, s.Close()) })
		}
		return s, err
	}
	s := try(open(cfg))(t)
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
			content, err := s.Open(t.Context(), key)
			if err == nil {
				err = content.Close()
			}
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
			if _, err := open(cfg); !errors.Is(err, media.ErrGone) || !strings.Contains(err.Error(), dir) {
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
	try(open(cfg))(t)
	check(t, os.RemoveAll(dir))
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, media.Mark), nil, 0o600)) // begins there again
	s = try(open(cfg))(t)
	check(t, calls["Write"]())
	if _, err := open(media.Config{Bucket: cfg.Bucket + "2", Key: cfg.Key, Places: cfg.Places}); err != nil {
		t.Errorf("another directory: %v", err)
	}
	deep := media.Config{Bucket: cfg.Bucket + strings.Repeat("/d", (4090-len(dir))/2), Key: cfg.Key, Places: cfg.Places} // its files cannot be written
	_, err := open(deep)
	if known, _ := cfg.Places.KnowsPlace(t.Context(), deep.Bucket+"/"); known || err == nil {
		t.Errorf("a directory that cannot be marked is known: %v", err)
	}
}
