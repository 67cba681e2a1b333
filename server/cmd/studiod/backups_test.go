package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/s3test"
)

// A daemon is killed in the middle of an upload, and makes the backup after its restart. When its machine is lost, one
// command restores all records and files on a new one.
func TestBackup_lostMachineIsRestoredByOneCommand(t *testing.T) {
	t.Parallel()
	bucket := s3test.New(t)
	place := strings.Replace(bucket.URL, "?", "/team?", 1)
	begun := make(chan struct{}, 100) // the upload is repeated
	bucket.Hold.Store(new(func(path string) bool {
		if !strings.Contains(path, "/db/") {
			return false
		}
		begun <- struct{}{}
		return true
	}))
	lost, found := filepath.Join(t.TempDir(), "lost"), t.TempDir()
	dsn, key := "sqlite:"+filepath.Join(lost, "studio.db"), filepath.Join(found, "operator.keys")
	prepareDatabase(t, dsn)
	before := startProcess(t, dsn)
	const content = "\xff\xd8\xff\xe0 a picture"
	try(before.client.UploadMedia(t.Context(), "image/jpeg", strings.NewReader(content)))(t)
	lipsync := try(before.client.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{Title: gen.Value("Greeting")}))(t)
	session := login(t, before.URL, testEmail)
	check(t, before.Stop())
	check(t, os.WriteFile(key, try(os.ReadFile(filepath.Join(lost, "studio.keys")))(t), 0o600))

	killed := startProcess(t, dsn, "--backup", place)
	<-begun
	check(t, killed.Kill())
	bucket.Hold.Store(nil)
	if n := bucket.Objects(t, "team/db/"); n != 0 {
		t.Errorf("half an upload counts: %d", n)
	}
	again := startProcess(t, dsn, "--backup", place)
	harness.Eventually(t, "the backup", func() bool { return bucket.Objects(t, "team/db/") == 1 })
	check(t, again.Stop())
	if left := try(filepath.Glob(filepath.Join(lost, "*.backup")))(t); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot.db")
	must(t, "", "backup", "--db="+dsn, snapshot)
	fails(t, exitUsage, "the file already exists", "backup", "--db="+dsn, snapshot)
	fails(t, exitUsage, "the database already exists", "restore", "--db="+dsn, snapshot)
	check(t, os.RemoveAll(lost))

	dsn = "sqlite:" + filepath.Join(found, "studio.db")
	beside, another := filepath.Join(found, "studio.keys"), filepath.Join(t.TempDir(), "another.keys")
	check(t, keyring.New().Create(another))
	for missing, args := range map[string][]string{
		"there is no key file " + beside: nil, "it is not in " + another: {"--key-file=" + another}, another + "2: no such file": {"--key-file=" + another + "2"},
	} {
		fails(t, exitUsage, missing, append([]string{"restore", "--db=" + dsn, place + "@latest"}, args...)...)
		if strings.Contains(missing, "no such file") {
			continue
		}
		// The file of "studiod backup" is restored without its key, which may be lost.
		if said := must(t, "", append([]string{"restore", "--db=" + dsn, snapshot}, args...)...); !strings.Contains(said, "the database is restored") || !strings.Contains(said, missing) {
			t.Errorf("%v: %s", args, said)
		}
		check(t, os.Remove(filepath.Join(found, "studio.db")))
	}
	fails(t, exitUsage, "no backup of this time", "restore", "--db="+dsn, "--key-file="+key, place+"@2020-01-01")
	if said := must(t, "", "restore", "--db="+dsn, "--key-file="+key, place+"@latest"); !strings.Contains(said, "Z: 1\n") || !strings.Contains(said, "needs the same key file") {
		t.Fatal(said)
	}
	pictures := try(filepath.Glob(filepath.Join(found, "studio-media", "uploads", "*", "*")))(t)
	if len(pictures) != 1 {
		t.Fatalf("the files are %v", pictures)
	}
	if restored, err := os.ReadFile(pictures[0]); string(restored) != content {
		t.Errorf("the file is %q, %v", restored, err)
	}
	after := startProcess(t, dsn, "--key-file", key)
	try(after.client.WaitLipsync(t.Context(), lipsync.InferenceID))(t)
	// The database does not know all sessions with tokens of the old key, and could not end them.
	if status := listStatus(t, after.URL, session.AccessToken); status != http.StatusUnauthorized {
		t.Errorf("an access token from before is answered %d", status)
	}
	try(after.client.RefreshTokens(t.Context(), gen.RefreshRequest{RefreshToken: session.RefreshToken}))(t)
	check(t, after.Stop())
}
