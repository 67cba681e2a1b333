package render

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Limits bound what each process of a program may use. A field that is 0 has its default, one
// that is negative sets no limit. They hold on Linux and macOS.
type Limits struct {
	// CPU is the time on all cores together. Default an hour.
	CPU time.Duration
	// Memory is the size of the data, in bytes. Default 4 GiB.
	Memory int64
	// FileSize is the size of each file that is written, in bytes. Default 2 GiB.
	FileSize int64
	// OpenFiles is how many files are open. Default 512.
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

// limitedName is the name under which this program runs to become a limited one. It is not a
// name that a person starts a program by.
const limitedName = "studiod-limited"

// limitedArgs is the command line for [RunLimited].
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

// RunLimited turns this process into the program of a renderer if it was started for that, and
// else returns. A program that uses [Exec] calls it before anything else.
func RunLimited() {
	if len(os.Args) < 6 || os.Args[0] != limitedName {
		return
	}
	_, _ = fmt.Fprintln(os.Stderr, becomeLimited(os.Args[1:5], os.Args[5:]))
	os.Exit(exitNotStarted)
}

// exitNotStarted is the status of a process that did not become the program.
const exitNotStarted = 126
