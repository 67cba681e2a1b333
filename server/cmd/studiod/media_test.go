package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// While the disk of the files is not mounted, no upload succeeds and no daemon starts. When it is back, all files are
// there.
func TestProcess_storesNoFileWhileTheDiskIsNotMounted(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	files := strings.TrimSuffix(strings.TrimPrefix(dsn, "sqlite:"), ".db") + "-media"
	p := startProcess(t, dsn)
	const picture = "\xff\xd8\xff\xe0 a picture"
	upload := func() (url string, err error) {
		uploaded, err := p.client.UploadMedia(t.Context(), "image/jpeg", strings.NewReader(picture))
		if err != nil {
			return "", err
		}
		return uploaded.URL, nil
	}
	before, err := upload()
	check(t, err)
	check(t, os.Rename(files, files+".elsewhere"))
	check(t, os.Mkdir(files, 0o700))
	if _, err := upload(); err == nil {
		t.Error("a file is stored in the directory of a disk that is not mounted")
	}
	check(t, os.Remove(files)) // is empty
	check(t, os.Rename(files+".elsewhere", files))
	if _, err := upload(); err != nil {
		t.Errorf("when the disk is back: %v", err)
	}
	wantFile(t, &before, "image/jpeg", picture)
	check(t, p.Stop())
	check(t, os.Rename(files, files+".elsewhere"))
	fails(t, exitUsage, files+": the place has no file named installation", "serve", "--addr=127.0.0.1:0", "--db", dsn)
	check(t, os.Rename(files+".elsewhere", files))
	again := startProcess(t, dsn)
	if stored, err := filepath.Glob(filepath.Join(files, "uploads", "*", "*")); len(stored) != 2 {
		t.Errorf("the files are %v, %v", stored, err)
	}
	check(t, again.Stop())
}
