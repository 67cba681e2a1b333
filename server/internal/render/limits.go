package render

import (
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
	// Memory is the size of the data segment (RLIMIT_DATA), in bytes. Default 4 GiB.
	Memory int64
	// FileSize is the size of each written file, in bytes. Default 2 GiB.
	FileSize int64
	// OpenFiles is the number of open files. Default 512.
	OpenFiles int64
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.CPU, time.Hour)
	setDefault(&l.Memory, 4<<30)
	setDefault(&l.FileSize, 2<<30)
	setDefault(&l.OpenFiles, 512)
	return l
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// limitedName is the value of os.Args[0] with which [RunLimited] sets limits and runs another program. It is not the
// name of a real program.
const limitedName = "studiod-limited"

// limitedArgs returns the command line that [RunLimited] reads.
func (l Limits) limitedArgs(program string, args []string) []string {
	seconds := int64(l.CPU / time.Second)
	if l.CPU > 0 {
		seconds = max(seconds, 1)
	}
	line := []string{limitedName}
	for _, n := range []int64{seconds, l.Memory, l.FileSize, l.OpenFiles} {
		line = append(line, strconv.FormatInt(n, 10))
	}
	return append(append(line, program), args...)
}

// RunLimited replaces this process with the program of a renderer if [Exec] started the process for that.
// Otherwise it returns. A program that uses [Exec] must call it before anything else.
func RunLimited() {
	if len(os.Args) < 6 || os.Args[0] != limitedName {
		return
	}
	_, _ = fmt.Fprintln(os.Stderr, becomeLimited(os.Args[1:5], os.Args[5:]))
	os.Exit(exitNotStarted)
}

// exitNotStarted is the exit status of RunLimited when the program cannot be run, as in a shell.
const exitNotStarted = 126
