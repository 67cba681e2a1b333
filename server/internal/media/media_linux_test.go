package media_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/media"
	"github.com/avatarstudio/avatarstudio/server/internal/media/bucket"
)

// A directory that cannot be read is not taken for an empty one: its files would be missing in a backup.
func TestStore_ForEach_failsForUnreadableDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check(t, os.Chmod(filepath.Dir(dir), 0o755))
	m := try(open(t, media.Config{Bucket: "file:" + dir, Key: []byte("key")}))(t)
	check(t, m.Write(t.Context(), "results/1/out.mp4", strings.NewReader("content")))
	check(t, os.Mkdir(filepath.Join(dir, "lost+found"), 0))
	list := func(prefix string) error {
		return m.ForEach(t.Context(), prefix, func(bucket.Object) error { return nil })
	}
	check(t, list(""))
	if os.Geteuid() == 0 { // root can read all
		runtime.LockOSThread()
		check(t, syscall.Setfsuid(65534))
	} else {
		check(t, os.Chmod(filepath.Join(dir, "results"), 0))
	}
	unreadable := map[string]error{"": list(""), "results/1/": list("results/1/")}
	check(t, list("uploads/"))
	if os.Geteuid() == 0 {
		check(t, syscall.Setfsuid(0))
		runtime.UnlockOSThread()
	} else {
		check(t, os.Chmod(filepath.Join(dir, "results"), 0o700))
	}
	for prefix, err := range unreadable {
		if !os.IsPermission(err) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
