package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the kernel's unit of CPU time in /proc.
const tick = time.Second / 100

// processStat is the content of /proc/PID/stat.
type processStat struct {
	pid, parent int
	used, ended time.Duration // CPU time of the process, and of its children that have ended
}

// readStat returns the zero value if there is no such process, or no /proc.
func readStat(pid string) (p processStat) {
	stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 15 {
		return p
	}
	field := func(i int) int {
		n, _ := strconv.Atoi(fields[i])
		return n
	}
	p.pid, _ = strconv.Atoi(pid)
	p.parent = field(1)
	p.used, p.ended = time.Duration(field(11)+field(12))*tick, time.Duration(field(13)+field(14))*tick
	return p
}

// family returns a process and its children.
func family(pid int) []processStat {
	all := []processStat{readStat(strconv.Itoa(pid))}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		if p := readStat(entry.Name()); p.parent == pid {
			all = append(all, p)
		}
	}
	return all
}

// cpuOf returns the CPU time of a process and its children, or 0 if pid is 0.
func cpuOf(pid int) (used time.Duration) {
	if pid == 0 {
		return 0
	}
	all := family(pid)
	used = all[0].ended
	for _, p := range all {
		used += p.used
	}
	return used
}

// memoryOf returns the memory of a process and its children as proportional set size, in bytes.
func memoryOf(pid int) (bytes int64) {
	if pid == 0 {
		return 0
	}
	for _, p := range family(pid) {
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "smaps_rollup"))
		for line := range strings.Lines(string(text)) {
			var kibibytes int64
			if _, err := fmt.Sscanf(line, "Pss: %d", &kibibytes); err == nil {
				bytes += kibibytes << 10
			}
		}
	}
	return bytes
}

// postmaster returns the process id of the PostgreSQL server. It returns 0 for SQLite and for servers on
// other machines.
func (db *database) postmaster(ctx context.Context) (pid int, err error) {
	if db.name == sqliteName {
		return 0, nil
	}
	backend, err := db.number(ctx, `SELECT pg_backend_pid()`)
	if err != nil {
		return 0, err
	}
	name, _ := os.ReadFile(filepath.Join("/proc", strconv.FormatInt(backend, 10), "comm"))
	if strings.TrimSpace(string(name)) != "postgres" {
		return 0, nil
	}
	return readStat(strconv.FormatInt(backend, 10)).parent, nil
}
