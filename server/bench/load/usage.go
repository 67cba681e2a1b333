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

// tick is the unit of CPU times in /proc.
const tick = time.Second / 100

// processTree returns the ids of a process and its children. It returns nil if pid is 0.
func processTree(pid int) (pids []string) {
	if pid == 0 {
		return nil
	}
	pids = []string{strconv.Itoa(pid)}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if fields := statFields(path); len(fields) > 1 && fields[1] == pids[0] {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// statFields returns the fields of a stat file after the name of the process, which may contain spaces.
func statFields(path string) []string {
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

// cpuOf returns the CPU time of processes, and of their children that have exited.
func cpuOf(pids ...string) (used time.Duration) {
	for _, pid := range pids {
		used += ticks(statFields(filepath.Join("/proc", pid, "stat")), 11, 12, 13, 14)
	}
	return used
}

// memoryOf returns the memory of a process and its children as proportional set size, in bytes.
func memoryOf(pid int) (bytes int64) {
	for _, child := range processTree(pid) {
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

// machineCPU returns the CPU time of all processes on this machine, and the steal time: the time that its hypervisor
// gave to others.
func machineCPU() (used, stolen time.Duration) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal
	return ticks(fields, 1, 2, 3, 6, 7), ticks(fields, 8)
}

// waitIdle waits until other programs use less than maxOthersCPU, but not longer than maxWait.
func waitIdle(ctx context.Context, maxWait time.Duration) error {
	const period = time.Second
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for before, _ := machineCPU(); maxWait > 0; maxWait -= period {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		used, _ := machineCPU()
		if (used - before).Seconds() < maxOthersCPU {
			return nil
		}
		before = used
	}
	return nil
}

// usage is the CPU time that was used during a measurement.
type usage struct {
	took                                    time.Duration
	studiod, database, load, others, stolen time.Duration
}

// startUsage returns a function that returns the CPU time since the call of startUsage.
func (s *setup) startUsage() func() usage {
	now := func() (u usage) {
		used, stolen := machineCPU()
		u = usage{studiod: cpuOf(strconv.Itoa(s.daemon.pid())), database: cpuOf(processTree(s.db.postmaster)...), load: cpuOf("self"), stolen: stolen}
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

// percent formats a CPU time as a percentage of one CPU.
func (u usage) percent(used time.Duration) string {
	return fmt.Sprintf("%.0f %%", 100*used.Seconds()/u.took.Seconds())
}
