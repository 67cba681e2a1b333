package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// TestProcess_acceptsCorrectLoginDuringGuessing sends concurrent wrong logins, 30 or STUDIO_TEST_LOGINS, while
// the user logs in. With -v it prints the duration of the correct login.
func TestProcess_acceptsCorrectLoginDuringGuessing(t *testing.T) {
	t.Parallel()
	guessers, _ := strconv.Atoi(cmp.Or(os.Getenv("STUDIO_TEST_LOGINS"), "30"))
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		prepareDatabase(t, dsn)
		p := startProcess(t, dsn)
		home := from(t, net.IPv4(127, 0, 0, 1))
		if status, _ := tryLogin(t.Context(), home, p.URL, testEmail, testPassword); status != http.StatusOK {
			t.Fatalf("the first login is answered %d", status)
		}
		for _, attack := range []struct {
			name      string
			addresses int
			email     func(i int) string
		}{
			{"one account from one other address", 1, func(int) string { return testEmail }},
			{"one account from 500 addresses", 500, func(int) string { return testEmail }},
			{"many accounts from the same address", 0, func(i int) string { return fmt.Sprintf("%d@example.com", i) }},
			{"many accounts from 500 addresses", 500, func(i int) string { return fmt.Sprintf("%d@example.com", i) }},
		} {
			ctx, stop := context.WithCancel(t.Context())
			var guessing sync.WaitGroup
			for i := range guessers {
				client := home
				if attack.addresses > 0 {
					client = from(t, net.IPv4(127, 0, byte(1+i%attack.addresses/250), byte(1+i%attack.addresses%250)))
				}
				guessing.Go(func() {
					for ctx.Err() == nil {
						_, _ = tryLogin(ctx, client, p.URL, attack.email(i), "a guess")
						select { // the rate of one guesser
						case <-ctx.Done():
						case <-time.After(time.Second):
						}
					}
				})
			}
			owner, began := from(t, net.IPv4(127, 0, 0, 1)), time.Now()
			for range 4 {
				if status, _ := tryLogin(t.Context(), owner, p.URL, testEmail, testPassword); status != http.StatusOK {
					t.Errorf("%s: the right login is answered %d", attack.name, status)
				}
			}
			t.Logf("%d guessers, %s: 4 right logins took %v", guessers, attack.name, time.Since(began))
			stop()
			guessing.Wait()
		}
		check(t, p.Stop())
	})
}

func TestCommands_endSessions(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		d := startDaemon(t, func(cfg *daemonConfig) { cfg.Database = dsn })
		db, client := "--db="+d.cfg.Database, from(t, net.IPv4(127, 0, 0, 1))
		const email, password = "bob@example.com", "another password"
		must(t, password+"\n", "user", "add", db, email)
		status := func(method, token string) int { return call(t, client, method, d.url(), token).StatusCode }
		for _, command := range [][]string{
			{"token", "revoke", db, email}, {"user", "password", db, email}, {"user", "disable", db, email}, {"user", "delete", db, "--yes", "--media=file:" + t.TempDir(), email},
		} {
			must(t, "", "user", "enable", db, email)
			_, token := tryLogin(t.Context(), client, d.url(), email, password)
			if created := status(http.MethodPost, token); created != http.StatusOK {
				t.Fatalf("before %v: creation %d", command, created)
			}
			must(t, password+"\n", command...)
			if list, created := status(http.MethodGet, token), status(http.MethodPost, token); list != http.StatusUnauthorized || created != http.StatusUnauthorized {
				t.Errorf("after %v the token lists with %d and creates with %d", command, list, created)
			}
			if listed := must(t, "", "user", "list", "--json", db); strings.Contains(listed, `"disabled_at":"20`) != (command[1] == "disable") {
				t.Errorf("after %v the users are\n%s", command, listed)
			}
		}
		if status, _ := tryLogin(t.Context(), client, d.url(), email, password); status != http.StatusUnauthorized {
			t.Errorf("a deleted user logs in with %d", status)
		}
		if acts := must(t, "", "audit", db); !strings.Contains(acts, "deleted") || strings.Count(acts, "disabled") != 1 || strings.Count(acts, byCommand) != 9 {
			t.Errorf("the audit log is\n%s", acts)
		}
		must(t, "", "user", "role", db, testEmail, "operator")
		fails(t, exitUsage, "last operator", "user", "disable", db, testEmail)
		fails(t, exitUsage, "no such user", "user", "disable", db, email)
		fails(t, exitUsage, "--yes", "user", "delete", db, "--media=file:"+t.TempDir(), testEmail) // nobody confirms it
		if !strings.Contains(d.log.String(), "client=127.0.0.1") {
			t.Error("the log does not name the address of the client")
		}
	})
}
