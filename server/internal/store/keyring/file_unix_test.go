//go:build unix

package keyring_test

import (
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
