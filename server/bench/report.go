package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// markdown returns the report.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Request validation

Each variant serves the same POST %s. All variants are measured alternately in one run. A value
is the median of the rounds, and a ratio is the median of the ratios within each round. Ratios in process compare the CPU
time of the process, including garbage collection, because other programs affect it less than wall time. Reproduce with
`+"`cd server/bench && go run .`"+`. The figures depend on the machine and its other load, ratios less than others.

%s %s/%s, %d CPUs. The small body has %d bytes, the large body %d bytes. Each variant has its own process. In process:
%d rounds of %v, one goroutine, no network. Loopback: %d rounds of %v, %d persistent connections; the load generator
shares the CPUs.

## Targets

%s
## In process

%s
The large body has %d more bytes, in members that the contract does not define. A request includes routing,
authentication, validation, decoding and the response, but not the creation of the request.

## Loopback

%s
`, createLipsync, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), len(smallBody), len(largeBody()),
		r.plan.rounds, r.plan.slice, r.plan.loopbackRounds, r.plan.loopbackSlice, r.plan.connections,
		r.targetTable(), r.inProcessTable(), len(largeBody())-len(smallBody), r.loopbackTable())
	fmt.Fprintf(&b, "## Rejected requests\n\n%s\n## Variants\n\n%s", r.probes, r.variantTable())
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
			v.name, small.ns(), small.cpu(), small.cpuRatio(bare), small.bytes(), small.allocs(),
			large.ns()/1e3, large.cpu()/1e3, large.bytes(), large.allocs())
	}
	return b.String()
}

func (r *results) loopbackTable() string {
	var b strings.Builder
	b.WriteString("| Variant | requests/s | × bare | min–max | server CPU µs/request | × bare |\n|---|--:|--:|--:|--:|--:|\n")
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
	b.WriteString("| Value | Target | Measured | Met |\n|---|--:|--:|---|\n")
	row := func(name, sign string, target, measured float64, format string) {
		met := "no"
		if sign == "≤" && measured <= target || sign == "≥" && measured >= target {
			met = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s |\n", name, sign, fmt.Sprintf(format, target), fmt.Sprintf(format, measured), met)
	}
	ours, ogen := r.small[r.index(serverName)], r.small[r.index(ogenName)]
	strict, middleware := r.small[r.index(strictName)], r.small[r.index(nethttp)]
	row("server.New in process, × ogen", "≤", 1.0, ours.cpuRatio(ogen), "%.2f")
	row("nethttp-middleware in process, × server.New", "≥", 20, middleware.cpuRatio(ours), "%.1f")
	row("additional allocations, compared with strict", "≤", 8, ours.allocs()-strict.allocs(), "%.1f")
	large, largeStrict := r.large[r.index(serverName)], r.large[r.index(strictName)]
	row("CPU time with the large body, µs", "≤", 200, large.cpu()/1e3, "%.0f")
	row("additional CPU time with the large body, compared with strict, µs", "≤", 250, (large.cpu()-largeStrict.cpu())/1e3, "%.0f")
	served := r.loopback[r.index(serverName)]
	for _, name := range []string{bareName, plainName} {
		other := r.loopback[r.index(name)]
		row("loopback requests/s, × "+name, "≥", 0.97, medianOfRatios(served.rounds, other.rounds, perSecond), "%.3f")
		row("loopback server CPU per request, × "+name, "≤", 1.15, medianOfRatios(served.rounds, other.rounds, cpu), "%.2f")
	}
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	row("first server.New in a process, ms", "≤", 5, medianOf(r.cold, ms), "%.1f")
	row("later server.New in the same process, ms", "≤", 5, medianOf(r.warm, ms), "%.1f")
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
	b.WriteString("| Variant | Version | Description |\n|---|---|---|\n")
	for _, v := range r.variants {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", v.name, versions[v.peer], v.description)
	}
	return b.String()
}
