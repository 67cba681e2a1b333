package soak_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A daemon serves, and one of the next version migrates the database. Both serve the same clients. The old one is
// restarted and then stopped. No request fails, and no event is duplicated.
func TestRollingUpdate_toNextVersion(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it builds another daemon")
	d := deploy(t, studiotest.NewPostgres(t))
	newProgram := buildNextDaemon(t)
	first := d.start()
	const origins, some = 20, 100
	r := receive(d, origins, nil)
	var created atomic.Int64
	stop := d.createAvatars(4, r.urls, func(_ time.Time, avatar *gen.Avatar, err error) bool {
		if err == nil {
			created.Add(1)
			_, err = d.client.GetAvatar(t.Context(), avatar.AvatarID)
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
		return err == nil
	})
	defer stop()
	r.waitAccepted(some)

	second := d.startProgram(newProgram, d.dsn)
	for _, restart := range []bool{true, false} {
		d.connect(first, second)
		check(t, first.AwaitLog(evenLanes))
		check(t, second.AwaitLog(evenLanes))
		_, accepted, _ := r.count()
		firstLogs, secondLogs := len(first.Log()), len(second.Log())
		r.waitAccepted(accepted + some)
		check(t, first.AwaitLogAfter(firstLogs, "delivery attempted"))
		check(t, second.AwaitLogAfter(secondLogs, "delivery attempted"))
		d.connect(second)
		secondLogs = len(second.Log())
		check(t, first.Stop()) // it may have logged errors and retries caused by the locks of the migration
		check(t, second.AwaitLogAfter(secondLogs, "lanes=256"))
		if restart {
			first = d.start()
		}
	}
	_, accepted, _ := r.count()
	r.waitAccepted(accepted + some)
	stop()
	all := 3 * int(created.Load())
	r.waitAccepted(all)
	listed := studiotest.Events(t, studiotest.Open(t, d.dsn), studio.EventFilter{UserID: d.userID})
	if len(listed) != all {
		t.Errorf("the user sees %d events, want %d", len(listed), all)
	}
	check(t, second.Stop())
	if !strings.Contains(second.Log(), "the database is migrated") {
		t.Error("the new daemon did not migrate the database")
	}
	if strings.Contains(second.Log(), "level=ERROR") {
		t.Error("the new daemon logged an error")
	}
	r.wantAllDelivered(d, all, 0)
}

// buildNextDaemon builds studiod with one more migration, and returns its path.
func buildNextDaemon(t *testing.T) (path string) {
	t.Helper()
	directory := t.TempDir()
	path, migration, overlay := filepath.Join(directory, "studiod"), filepath.Join(directory, "next.sql"), filepath.Join(directory, "overlay")
	check(t, os.WriteFile(migration, []byte(`-- +goose Up
		ALTER TABLE subjects ADD COLUMN next TEXT NOT NULL DEFAULT 'new';
		UPDATE compatibility SET oldest = version, version = 9999;`), 0o600))
	added, err := filepath.Abs(filepath.Join("..", "..", "store", "migrations", "postgres", "09999_next.sql"))
	check(t, err)
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{added: migration}})
	check(t, err)
	check(t, os.WriteFile(overlay, files, 0o600))
	output, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", path, daemonPackage).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}
