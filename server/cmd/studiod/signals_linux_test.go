package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestProcess_continuesAfterSIGHUPAndTheEndOfTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	harness.Need(t, "bash")
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	reading := []string{"bash", "-c", `exec "$0" "$@" 2> >(sed --unbuffered '/msg=serving url/q' >&2)`}
	p := startProcessBy(t, append(reading, thisProgram(t)...), dsn)
	check(t, p.Signal(syscall.SIGHUP))
	try(p.client.ListAvatars(t.Context(), client.ListAvatarsParams{}))(t)
	check(t, p.Stop())
}

func TestProcess_stopsWhenItsTerminalIsClosed(t *testing.T) {
	t.Parallel()
	command := serveBy(thisProgram(t), studiotest.NewSQLite(t))
	_, command.Stdin = harness.OpenTerminal(t)
	p := harness.RunDaemon(t, command)
	check(t, p.End(syscall.SIGHUP))
	if !strings.Contains(p.Log(), "msg=stopped") {
		t.Error("the daemon does not say that it stopped")
	}
}
