package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
)

// machineCPU returns the CPU time of all processes on this machine, and the steal time: the time that its hypervisor
// gave to others.
func machineCPU() (used, stolen time.Duration) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal
		n, _ := strconv.Atoi(field)
		switch i {
		case 1, 2, 3, 6, 7:
			used += time.Duration(n) * harness.Tick
		case 8:
			stolen = time.Duration(n) * harness.Tick
		}
	}
	return used, stolen
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
		u = usage{studiod: s.daemon.CPU(), database: harness.TreeCPU(s.db.Postmaster), load: harness.SelfCPU() + harness.TreeCPU(s.bare), stolen: stolen}
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
