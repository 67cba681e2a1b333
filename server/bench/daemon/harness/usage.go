package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of CPU times in /proc.
const Tick = time.Second / 100

// processStat is the content of /proc/PID/stat.
type processStat struct {
	pid, parent int
	used, ended time.Duration // CPU time of the process, and of its children that have ended
}

// readStat returns the zero value if there is no such process, or no /proc.
func readStat(pid int) (p processStat) {
	stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, after, _ := strings.Cut(string(stat), ") ")
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

// processTree returns a process and its children. It returns nil if pid is 0.
func processTree(pid int) []processStat {
	if pid == 0 {
		return nil
	}
	all := []processStat{readStat(pid)}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if child, err := strconv.Atoi(entry.Name()); err == nil {
			if p := readStat(child); p.parent == pid {
				all = append(all, p)
			}
		}
	}
	return all
}

// SelfCPU returns the CPU time of this process, without its children that are still running.
func SelfCPU() time.Duration {
	p := readStat(os.Getpid())
	return p.used + p.ended
}

// TreeCPU returns the CPU time of a process and its children, or 0 if pid is 0.
func TreeCPU(pid int) (used time.Duration) {
	for i, p := range processTree(pid) {
		used += p.used
		if i == 0 {
			used += p.ended
		}
	}
	return used
}

// TreeMemory returns the memory of a process and its children as proportional set size, in bytes. It returns 0 if pid
// is 0.
func TreeMemory(pid int) (bytes int64) {
	for _, p := range processTree(pid) {
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
