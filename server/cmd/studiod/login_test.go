package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/api/passwords"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A user logs in while many addresses guess passwords, of the account of the user and of many accounts.
func TestProcess_acceptsCorrectLoginDuringGuessing(t *testing.T) {
	t.Parallel()
	dsn, program := studiotest.NewSQLite(t), thisProgram(t)
	prepareDatabase(t, dsn)
	if !testing.Short() {
		program = append([]string{"env", withStrongPasswords + "=1"}, program...)
		service := studio.New(studio.Config{Store: studiotest.Open(t, dsn), Passwords: passwords.New()})
		check(t, service.SetPassword(t.Context(), testEmail, testPassword))
	}
	p := startProcessBy(t, program, dsn)
	home := from(t, net.IPv4(127, 0, 0, 1))
	if status, _ := tryLogin(t.Context(), home, p.URL, testEmail, testPassword); status != http.StatusOK {
		t.Fatalf("the first login is answered %d", status)
	}
	ctx, stop := context.WithCancel(t.Context())
	var guessing sync.WaitGroup
	for i := range 30 {
		email, client := testEmail, from(t, net.IPv4(127, 0, 1, byte(1+i)))
		if i%3 > 0 {
			email = fmt.Sprintf("%d@example.com", i)
		}
		if i%3 > 1 {
			client = home
		}
		guessing.Go(func() {
			for ctx.Err() == nil {
				_, _ = tryLogin(ctx, client, p.URL, email, "a guess")
				select { // the rate of one guesser
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	owner := from(t, net.IPv4(127, 0, 0, 1))
	for range 4 {
		if status, _ := tryLogin(t.Context(), owner, p.URL, testEmail, testPassword); status != http.StatusOK {
			t.Errorf("the right login is answered %d", status)
		}
	}
	stop()
	guessing.Wait()
	check(t, p.Stop())
}

func TestCommands_endSessions(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	db, client := "--db="+d.cfg.Database, from(t, net.IPv4(127, 0, 0, 1))
	const email, password = "bob@example.com", "another password"
	must(t, password+"\n", "user", "add", db, email)
	status := func(method, token string) int { return call(t, client, method, d.url(), token).StatusCode }
	for _, command := range [][]string{
		{"token", "revoke", db, email}, {"user", "disable", db, email}, {"user", "delete", db, "--yes", email},
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
	if acts := must(t, "", "audit", db); !strings.Contains(acts, "deleted") || strings.Count(acts, "disabled") != 1 || strings.Count(acts, byCommand) != 7 {
		t.Errorf("the audit log is\n%s", acts)
	}
	if !strings.Contains(d.log.String(), "client=127.0.0.1") {
		t.Error("the log does not name the address of the client")
	}
}
