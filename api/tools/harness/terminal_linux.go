package harness

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// OpenTerminal returns both ends of a pseudo-terminal: the one of a person and the one of a program.
func OpenTerminal(t testing.TB) (person, program *os.File) {
	t.Helper()
	open := func(name string) *os.File {
		file := Try(os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0))(t)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	person = open("/dev/ptmx")
	Check(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number := Try(unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN))(t)
	return person, open(fmt.Sprintf("/dev/pts/%d", number))
}
