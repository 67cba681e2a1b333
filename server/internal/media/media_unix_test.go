//go:build unix

package media_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Only regular files are served. Opening a pipe would block, and a link may lead to any file of the machine. The
// directory itself may become a link, such as to a larger disk.
func TestStore_ServeHTTP_servesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(key, "x")
	outside := filepath.Join(t.TempDir(), "out.mp4")
	check(t, os.WriteFile(outside, []byte("secret"), 0o600))
	check(t, os.MkdirAll(filepath.Join(b.dir, "uploads", "1"), 0o700))
	check(t, syscall.Mkfifo(filepath.Join(b.dir, "uploads", "1", "pipe.mp4"), 0o600))
	for name, target := range map[string]string{
		"1/outside.mp4": outside, "1/inside.mp4": "../../" + key, "2": "../" + filepath.Dir(key), "3": filepath.Dir(outside),
	} {
		check(t, os.Symlink(target, filepath.Join(b.dir, "uploads", name)))
	}
	for _, name := range []string{"1/pipe.mp4", "1/outside.mp4", "1/inside.mp4", "2/out.mp4", "3/out.mp4", "1"} {
		url, _ := b.URL("uploads/" + name)
		if response, body := b.do("GET", url); response.StatusCode != 404 || strings.Contains(body, "secret") {
			t.Errorf("%s: %s %q", name, response.Status, body)
		}
	}
	moved := filepath.Join(t.TempDir(), "moved")
	check(t, os.Rename(b.dir, moved))
	check(t, os.Symlink(moved, b.dir))
	url, _ := b.URL(key)
	if response, body := b.do("GET", url); response.StatusCode != 200 || body != "x" {
		t.Errorf("%s %q", response.Status, body)
	}
}
