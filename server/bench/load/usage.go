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

// tick is the kernel's unit of CPU time for programs.
const tick = time.Second / 100

// family returns a process and its children; nil for 0.
func family(pid int) (pids []string) {
	if pid == 0 {
		return nil
	}
	pids = []string{strconv.Itoa(pid)}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if fields := afterName(path); len(fields) > 1 && fields[1] == pids[0] {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// afterName returns the fields of a stat file that follow the name, which may have spaces.
func afterName(path string) []string {
	stat, _ := os.ReadFile(path)
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(after)
}

func ticks(fields []string, indexes ...int) (sum time.Duration) {
	for _, i := range indexes {
		if i < len(fields) {
			n, _ := strconv.Atoi(fields[i])
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// cpuOf returns the CPU time that processes have used, and those of their children that have ended.
func cpuOf(pids ...string) (used time.Duration) {
	for _, pid := range pids {
		used += ticks(afterName(filepath.Join("/proc", pid, "stat")), 11, 12, 13, 14)
	}
	return used
}

// memoryOf returns how many bytes a process and its children have, of what they share a part each.
func memoryOf(pid int) (bytes int64) {
	for _, child := range family(pid) {
		text, _ := os.ReadFile(filepath.Join("/proc", child, "smaps_rollup"))
		for line := range strings.Lines(string(text)) {
			var kibibytes int64
			if _, err := fmt.Sscanf(line, "Pss: %d", &kibibytes); err == nil {
				bytes += kibibytes << 10
			}
		}
	}
	return bytes
}

// machine returns the CPU time that everybody on this machine has used, and what its host gave to others
// while somebody here wanted it.
func machine() (used, stolen time.Duration) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal
	return ticks(fields, 1, 2, 3, 6, 7), ticks(fields, 8)
}

// quiet waits until others leave the machine alone, or for as long as patience.
func quiet(ctx context.Context, patience time.Duration) error {
	const period = time.Second
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for before, _ := machine(); patience > 0; patience -= period {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		used, _ := machine()
		if (used - before).Seconds() < little {
			return nil
		}
		before = used
	}
	return nil
}

// usage is CPU time of a while.
type usage struct {
	took                                    time.Duration
	studiod, database, load, others, stolen time.Duration
}

// measureUsage returns a function that tells what was used since.
func (s *scene) measureUsage() func() usage {
	now := func() (u usage) {
		used, stolen := machine()
		u = usage{studiod: cpuOf(strconv.Itoa(s.daemon.pid())), database: cpuOf(family(s.db.postmaster)...), load: cpuOf("self"), stolen: stolen}
		u.others = used - u.studiod - u.database - u.load
		return u
	}
	began, before := time.Now(), now()
	return func() usage {
		after := now()
		return usage{
			time.Since(began), after.studiod - before.studiod, after.database - before.database, after.load - before.load,
			after.others - before.others, after.stolen - before.stolen,
		}
	}
}

// share writes CPU time as a part of one processor.
func (u usage) share(used time.Duration) string {
	return fmt.Sprintf("%.0f %%", 100*used.Seconds()/u.took.Seconds())
}
