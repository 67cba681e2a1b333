package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hideProcess prevents other processes of the user from reading the memory and the environment of this process. It also
// disables core dumps.
func hideProcess() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
