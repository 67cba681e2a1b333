package render

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Limits are the resource limits of each process of a program. A zero field means its default, and a
// negative field means no limit. Limits are enforced on Linux and macOS only.
type Limits struct {
	// CPU is the processor time on all cores together (RLIMIT_CPU), in whole seconds and at least one.
	// Default 1 hour.
	CPU time.Duration
	// Memory is the size of the data segment (RLIMIT_DATA), in bytes. Default half of the memory of the machine, so
	// that a hostile input leaves the daemon enough.
	Memory int64
	// FileSize is the size of each written file, in bytes. Default 2 GiB.
	FileSize int64
	// OpenFiles is the number of open files. Default 512.
	OpenFiles int64
	// Processes is the number of processes and threads of a rendering (RLIMIT_NPROC). It is enforced in a sandbox
	// only, because elsewhere all processes of the user count. Default 1024.
	Processes int64
}

func (l Limits) withDefaults() Limits {
	return Limits{
		CPU: cmp.Or(l.CPU, time.Hour), Memory: cmp.Or(l.Memory, machineMemory()/2), FileSize: cmp.Or(l.FileSize, 2<<30),
		OpenFiles: cmp.Or(l.OpenFiles, 512), Processes: cmp.Or(l.Processes, 1024),
	}
}

// limitedName is the value of os.Args[1] with which [RunLimited] sets limits and runs another program. It is not the
// name of a command.
const limitedName = "run-limited"

// noSandbox replaces the user of a sandbox in limitedArgs.
const noSandbox = -1

// limitedArgs returns the arguments that [RunLimited] reads. user is the user of the sandbox in which it runs. An empty
// line means that it only checks whether the limits can be set.
func (l Limits) limitedArgs(user int, line []string) []string {
	seconds := int64(l.CPU / time.Second)
	if l.CPU > 0 {
		seconds = max(seconds, 1)
	}
	args := []string{limitedName, strconv.Itoa(user)}
	for _, n := range []int64{seconds, l.Memory, l.FileSize, l.OpenFiles, l.Processes} {
		args = append(args, strconv.FormatInt(n, 10))
	}
	return append(args, line...)
}

// RunLimited replaces this process with the program of a renderer if [Exec] started the process for that.
// Otherwise it returns. A program that uses [Exec] must call it before anything else.
func RunLimited() {
	const program = 8 // index in os.Args
	if len(os.Args) < program || os.Args[1] != limitedName {
		return
	}
	if err := becomeLimited(os.Args[2], os.Args[3:program], os.Args[program:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(exitNotStarted)
	}
	os.Exit(0)
}

// exitNotStarted is the exit status of RunLimited when the program cannot be run, as in a shell.
const exitNotStarted = 126
