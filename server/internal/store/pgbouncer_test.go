package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// pgbouncer refuses the settings of a session, or ignores them if it is configured to. Open says why this is not
// supported.
func TestOpen_refusesPgbouncer(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skipf("pgbouncer is not tested: %v", err)
	}
	for name, ignored := range map[string]string{
		"RefusingSettings": "", "IgnoringSettings": "client_min_messages,default_transaction_isolation,jit,enable_seqscan,enable_bitmapscan," +
			"lock_timeout,statement_timeout,idle_in_transaction_session_timeout",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := try(pgx.ParseConfig(studiotest.NewPostgres(t)))(t)
			directory, err := os.MkdirTemp("", "pgb") //nolint:usetesting // the path of a Unix socket must be short
			check(t, err)
			t.Cleanup(func() { check(t, os.RemoveAll(directory)) })
			check(t, os.Chmod(directory, 0o777)) // pgbouncer refuses to run as root
			file := filepath.Join(directory, "pgbouncer.ini")
			check(t, os.WriteFile(file, fmt.Appendf(nil, "[databases]\n* = host=%s port=%d user=%s password=%s\n[pgbouncer]\n"+
				"listen_addr =\nunix_socket_dir = %s\nauth_type = any\npool_mode = transaction\nignore_startup_parameters = %s\n",
				config.Host, config.Port, config.User, cmp.Or(config.Password, "none"), directory, ignored), 0o644))
			command := exec.CommandContext(context.Background(), program, "-q", file)
			if os.Geteuid() == 0 {
				command.Args = append(command.Args, "-u", "postgres") // who may use the socket of the cluster
			}
			check(t, command.Start())
			t.Cleanup(func() {
				check(t, command.Process.Kill())
				_ = command.Wait() // it was killed
			})
			through := fmt.Sprintf("postgres://%s@/%s?host=%s&port=6432", config.User, config.Database, directory)
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				_, err = store.Open(t.Context(), through, store.Config{})
				if !errors.Is(err, studio.ErrBusy) || time.Since(began) > harness.Timeout { // it has started
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), "pgbouncer is not supported, because") || strings.Contains(err.Error(), "\n") ||
				strings.Contains(err.Error(), "FATAL") != (ignored == "") {
				t.Errorf("error is %v", err)
			}
		})
	}
}
