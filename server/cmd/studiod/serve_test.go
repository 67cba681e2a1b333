package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// The log warns of what an operator has probably not meant.
func TestDaemon_warnsOperators(t *testing.T) {
	t.Parallel()
	keyFile := func(mode os.FileMode) func(*testing.T, *daemonConfig) {
		return func(t *testing.T, cfg *daemonConfig) {
			cfg.Keys.File = filepath.Join(t.TempDir(), "our.keys")
			check(t, keyring.New().Create(cfg.Keys.File))
			check(t, os.Chmod(cfg.Keys.File, mode))
		}
	}
	onPostgres := func(t *testing.T, cfg *daemonConfig) {
		cfg.Database, cfg.Backup = studiotest.NewPostgres(t), "file:"+t.TempDir()
	}
	for _, test := range []struct {
		change func(t *testing.T, cfg *daemonConfig)
		says   string
		want   bool
	}{
		{keyFile(0o604), "can read the key file", true},
		{onPostgres, "secrets in the database are not encrypted", true},
		{onPostgres, "back up the database with the tools of PostgreSQL", true},
		{func(t *testing.T, cfg *daemonConfig) { cfg.Backup = "file:" + t.TempDir() }, "tools of PostgreSQL", false},
		{func(_ *testing.T, cfg *daemonConfig) { cfg.Addr = "0.0.0.0:0" }, "set --public-url\" url=http://127.0.0.1:", true},
		{func(t *testing.T, cfg *daemonConfig) {
			taken := try(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
			t.Cleanup(func() { check(t, taken.Close()) })
			cfg.Admin = adminConfig{Addr: taken.Addr().String(), Optional: true}
		}, "level=WARN msg=\"admin address not available", true},
		{func(t *testing.T, cfg *daemonConfig) { must(t, "", "delivery", "pause", "--db="+cfg.Database) }, "deliveries are paused", true},
		{func(t *testing.T, cfg *daemonConfig) {
			check(t, os.Chmod(strings.TrimPrefix(cfg.Database, "sqlite:"), 0o644))
		}, "had access to the database", true},
	} {
		t.Run(test.says, func(t *testing.T) {
			t.Parallel()
			var database string
			d := startDaemon(t, func(cfg *daemonConfig) { test.change(t, cfg); database = cfg.Database })
			harness.Eventually(t, "the start", func() bool { return strings.Contains(d.log.String(), "msg=serving ") })
			if strings.Contains(d.log.String(), test.says) != test.want {
				t.Errorf("want %q %t in\n%s", test.says, test.want, d.log)
			}
			if path, ok := sqlitePath(database); ok {
				for _, file := range []string{path, path + "-wal", path + "-shm"} {
					if info, err := os.Stat(file); err != nil || info.Mode()&0o007 != 0 {
						t.Errorf("%s has the mode %v: %v", file, info.Mode(), err)
					}
				}
			}
		})
	}
}
