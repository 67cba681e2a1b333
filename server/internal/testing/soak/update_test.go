package soak_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A daemon serves while the database is migrated to the next version. Another one serves the same clients. The first is
// restarted and then stopped. No request fails, and no event is duplicated. Package store tests who migrates.
func TestRollingUpdate_toNextVersion(t *testing.T) {
	t.Parallel()
	d := deploy(t, studiotest.NewPostgres(t))
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

	migration, err := studiotest.OpenSQL(t, d.dsn).BeginTx(t.Context(), nil)
	check(t, err)
	for _, statement := range []string{
		`ALTER TABLE subjects ADD COLUMN next TEXT NOT NULL DEFAULT 'new'`,
		`UPDATE compatibility SET oldest = version, version = 9999`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`,
	} {
		_, err = migration.ExecContext(t.Context(), statement)
		check(t, err)
	}
	check(t, migration.Commit())
	second := d.start()
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
	check(t, second.Stop())
	if strings.Contains(second.Log(), "level=ERROR") {
		t.Error("the second daemon logged an error")
	}
	r.wantAllDelivered(d, all, 0)
}
