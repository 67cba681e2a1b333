package harness

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of CPU times in /proc. Without /proc, CPU times and memory are 0.
const Tick = time.Second / 100

// processStat is the content of /proc/PID/stat.
type processStat struct {
	pid, parent int
	used, ended time.Duration // CPU time of the process, and of its children that have ended
}

// readStat returns the zero value if there is no such process, or no /proc.
func readStat(pid int) (p processStat) {
	stat, _ := os.ReadFile(proc(pid, "stat"))
	_, after, _ := strings.Cut(string(stat), ") ") // the name of the program may contain spaces
	fields := strings.Fields(after)
	if len(fields) < 15 {
		return p
	}
	field := func(i int) int {
		n, _ := strconv.Atoi(fields[i])
		return n
	}
	p.pid, p.parent = pid, field(1)
	p.used, p.ended = time.Duration(field(11)+field(12))*Tick, time.Duration(field(13)+field(14))*Tick
	return p
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }

// processTree returns a process and its descendants. It returns nil if there is no such process.
func processTree(pid int) (tree []processStat) {
	root := readStat(pid)
	if root.pid == 0 {
		return nil
	}
	children := make(map[int][]processStat)
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if id, err := strconv.Atoi(entry.Name()); err == nil {
			child := readStat(id)
			children[child.parent] = append(children[child.parent], child)
		}
	}
	tree = []processStat{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].pid]...)
	}
	return tree
}

// TreeCPU returns the CPU time of a process and its descendants, or 0 if pid is 0.
func TreeCPU(pid int) (used time.Duration) {
	for i, p := range processTree(pid) {
		used += p.used
		if i == 0 {
			used += p.ended
		}
	}
	return used
}

// TreeMemory returns the memory of a process and its descendants as proportional set size, in bytes. It returns 0 if
// pid is 0.
func TreeMemory(pid int) (bytes int64) {
	for _, p := range processTree(pid) {
		bytes += readSize(p.pid, "smaps_rollup", "Pss:")
	}
	return bytes
}

// readSize returns the size that a line of a file in /proc has, in bytes.
func readSize(pid int, file, name string) (bytes int64) {
	text, _ := os.ReadFile(proc(pid, file))
	for line := range strings.Lines(string(text)) {
		if size, found := strings.CutPrefix(line, name); found {
			_, _ = fmt.Sscan(size, &bytes)
		}
	}
	return bytes << 10
}

// CPU returns the CPU time of the process and its descendants.
func (p *Process) CPU() time.Duration { return TreeCPU(p.PID()) }

// Memory returns the resident memory of the process and its peak since [Process.ResetPeak], in bytes.
func (p *Process) Memory() (now, peak int64) {
	return readSize(p.PID(), "status", "VmRSS:"), readSize(p.PID(), "status", "VmHWM:")
}

// ResetPeak sets the peak of [Process.Memory] to the current memory.
func (p *Process) ResetPeak() { _ = os.WriteFile(proc(p.PID(), "clear_refs"), []byte("5"), 0) }

// Postmaster returns the process id of a PostgreSQL server, or 0 if the server is on another machine.
func Postmaster(ctx context.Context, db *sql.DB) (pid int, err error) {
	var backend int
	if err := db.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&backend); err != nil {
		return 0, err
	}
	name, _ := os.ReadFile(proc(backend, "comm"))
	if strings.TrimSpace(string(name)) != "postgres" {
		return 0, nil
	}
	return readStat(backend).parent, nil
}
