//go:build unix

package keyring_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

func TestLoad_rejectsAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "keys")
	check(t, syscall.Mkfifo(pipe, 0o600))
	if _, err := keyring.Load(pipe); err == nil { // opening it would block, because nothing writes to it
		t.Error("no error")
	}
}

// The service can read its key file after root has rotated it, and rotate it itself. What another file of root is, the
// service cannot change by this.
func TestKeyring_Rotate_keepsOwnerAndMode(t *testing.T) {
	t.Parallel()
	path, owner := filepath.Join(t.TempDir(), "keys"), os.Geteuid()
	keys := keyring.New()
	check(t, keys.Create(path))
	check(t, os.Chmod(path, 0o440))
	if owner == 0 {
		owner = 65534
		check(t, os.Chown(path, owner, owner))
	}
	check(t, keys.Rotate())
	for _, file := range []string{path, path + ".lock"} {
		var info syscall.Stat_t
		if check(t, syscall.Stat(file, &info)); int(info.Uid) != owner || info.Mode&0o777 != 0o440 {
			t.Errorf("%s has the owner %d and the mode %o", file, info.Uid, info.Mode)
		}
	}
	exposed := keys.OpenToOthers()
	check(t, os.Chmod(path, 0o604))
	if exposed != "" || keys.OpenToOthers() != path {
		t.Errorf("open to others are %q and %q", exposed, keys.OpenToOthers())
	}
	others := filepath.Join(t.TempDir(), "others")
	check(t, os.WriteFile(others, nil, 0o600))
	for _, link := range []func(string, string) error{os.Symlink, os.Link} {
		check(t, os.Remove(path+".lock"))
		check(t, link(others, path+".lock"))
		check(t, keys.Rotate())
		if info, err := os.Stat(others); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}
