package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/internal/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// openTerminal returns the end of a pseudo-terminal that a program uses.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { _ = person.Close() })
	var number, unlock uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return program
}

func TestProcess_continuesAfterSIGHUP(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	prepareDatabase(t, dsn)
	p := startProcess(t, dsn)
	check(t, p.Signal(syscall.SIGHUP))
	check(t, p.AwaitLog("SIGHUP ignored"))
	_, err := p.client.ListAvatars(t.Context(), client.ListAvatarsParams{})
	check(t, err)
	check(t, p.Stop())
}

func TestProcess_stopsWhenItsTerminalIsClosed(t *testing.T) {
	t.Parallel()
	command := serveBy(thisProgram(t), studiotest.NewSQLite(t))
	command.Stdin = openTerminal(t)
	p := harness.RunDaemon(t, command)
	check(t, p.End(syscall.SIGHUP))
	if !strings.Contains(p.Log(), "msg=stopped") {
		t.Error("the daemon does not say that it stopped")
	}
}
