//go:build unix

package httpserver_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/operate/httpserver"
)

func TestLoadCertificate_rejectsAPipe(t *testing.T) {
	t.Parallel()
	pipe, file := filepath.Join(t.TempDir(), "pipe.pem"), filepath.Join(t.TempDir(), "file.pem")
	harness.Check(t, syscall.Mkfifo(pipe, 0o600))
	harness.Check(t, os.WriteFile(file, nil, 0o600))
	for _, files := range [][2]string{{pipe, file}, {file, pipe}} {
		if _, err := httpserver.LoadCertificate(files[0], files[1]); err == nil {
			t.Errorf("%v are accepted", files)
		}
	}
}
