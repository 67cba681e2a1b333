package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// markdown returns the report with the results and their targets.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What validation costs

The same POST %s through each variant, in one run and in turn. A figure is the median of the
rounds, a ratio the median of the ratios within each round. Ratios in process are of the CPU time of the process,
garbage collection included, which the other programs of the machine disturb least. Reproduce with `+"`cd server/bench && go run .`"+`;
figures depend on the machine and on what else it does, ratios less so.

%s %s/%s, %d CPUs. Body: %d bytes, and %d bytes. Each variant has a process of its
own. In process: %d rounds of %v, one goroutine, no network. Loopback: %d rounds of %v, %d connections kept alive, the load generator on the same CPUs.

## Targets

%s
## In process

%s
A large body has %d bytes more that the document does not know and that are kept. Everything is included but
the making of the request: routing, authentication, validation, decoding, the answer.

## Loopback

%s
`, createLipsync, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), len(smallBody), len(largeBody()),
		r.plan.rounds, r.plan.slice, r.plan.loopbackRounds, r.plan.loopbackSlice, r.plan.connections,
		r.targetTable(), r.inProcessTable(), len(largeBody())-len(smallBody), r.loopbackTable())
	fmt.Fprintf(&b, "## What is refused\n\n%s\n## The variants\n\n%s", r.probes, r.variantTable())
	return b.String()
}

func (r *results) inProcessTable() string {
	var b strings.Builder
	b.WriteString("| Variant | ns/op | CPU ns/op | × bare | B/op | allocs/op | large: µs/op | CPU µs/op | B/op | allocs/op |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	bare := r.small[r.index(bareName)]
	for i, v := range r.variants {
		small, large := r.small[i], r.large[i]
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n",
			v.name, small.ns(), small.cpu(), small.over(bare), small.bytes(), small.allocs(),
			large.ns()/1e3, large.cpu()/1e3, large.bytes(), large.allocs())
	}
	return b.String()
}

func (r *results) loopbackTable() string {
	var b strings.Builder
	b.WriteString("| Variant | requests/s | × bare | least–most | server CPU µs/request | × bare |\n|---|--:|--:|--:|--:|--:|\n")
	bare := r.loopback[r.index(bareName)]
	for i, v := range r.variants {
		m := r.loopback[i]
		least, most := m.spread(bare)
		fmt.Fprintf(&b, "| %s | %.0f | %.3f | %.2f–%.2f | %.1f | %.2f |\n", v.name,
			medianOf(m.rounds, perSecond), medianOfRatios(m.rounds, bare.rounds, perSecond), least, most,
			medianOf(m.rounds, cpu)/1e3, medianOfRatios(m.rounds, bare.rounds, cpu))
	}
	return b.String()
}

func (r *results) targetTable() string {
	var b strings.Builder
	b.WriteString("| Target | Wanted | Measured | Met |\n|---|--:|--:|---|\n")
	row := func(name, sign string, wanted, measured float64, format string) {
		met := "no"
		if sign == "≤" && measured <= wanted || sign == "≥" && measured >= wanted {
			met = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s |\n", name, sign, fmt.Sprintf(format, wanted), fmt.Sprintf(format, measured), met)
	}
	ours, ogen := r.small[r.index(oursName)], r.small[r.index(ogenName)]
	strict, middleware := r.small[r.index(strictName)], r.small[r.index(nethttp)]
	row("server.New in process, × ogen", "≤", 1.0, ours.over(ogen), "%.2f")
	row("nethttp-middleware in process, × server.New", "≥", 20, middleware.over(ours), "%.1f")
	row("allocations more than strict", "≤", 8, ours.allocs()-strict.allocs(), "%.1f")
	large, largeStrict := r.large[r.index(oursName)], r.large[r.index(strictName)]
	row("large body, whole request, µs", "≤", 200, large.cpu()/1e3, "%.0f")
	row("large body, more than strict, µs", "≤", 250, (large.cpu()-largeStrict.cpu())/1e3, "%.0f")
	served := r.loopback[r.index(oursName)]
	for _, name := range []string{bareName, plainName} {
		other := r.loopback[r.index(name)]
		row("loopback requests/s, × "+name, "≥", 0.97, medianOfRatios(served.rounds, other.rounds, perSecond), "%.3f")
		row("loopback server CPU per request, × "+name, "≤", 1.15, medianOfRatios(served.rounds, other.rounds, cpu), "%.2f")
	}
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	row("start-up in a new process, ms", "≤", 5, medianOf(r.cold, ms), "%.1f")
	row("start-up again in the same process, ms", "≤", 5, medianOf(r.warm, ms), "%.1f")
	return b.String()
}

func (r *results) variantTable() string {
	versions := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			versions[module.Path] = module.Version
		}
	}
	var b strings.Builder
	b.WriteString("| Variant | Version | What it is |\n|---|---|---|\n")
	for _, v := range r.variants {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", v.name, versions[v.peer], v.what)
	}
	return b.String()
}
