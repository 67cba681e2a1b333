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
		file, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
		Check(t, err)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	person = open("/dev/ptmx")
	Check(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	Check(t, err)
	return person, open(fmt.Sprintf("/dev/pts/%d", number))
}
