package bench_test

import (
	"fmt"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/bench/measure"
)

// markdown returns the report.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Request validation

Each variant serves the same POST %s. All variants are measured alternately in one run. A value
is the median of the rounds, and a ratio is the median of the ratios within each round. Ratios in process compare the CPU
time of the process, including garbage collection, because other programs affect it less than wall time. Reproduce with
`+"`make bench`"+`. The figures depend on the machine and its other load, ratios less than others.

%s. The small body has %d bytes, the large body %d bytes. Each variant has its own process. In process:
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
`, createLipsync, measure.Machine(), len(smallBody), len(largeBody()),
		r.rounds, r.slice, r.loopbackRounds, r.loopbackSlice, r.connections,
		r.targetTable(), r.inProcessTable(), len(largeBody())-len(smallBody), r.loopbackTable())
	fmt.Fprintf(&b, "## Rejected requests\n\n%s\n## Variants\n\n%s", r.probeTable(), variantNotes)
	return b.String()
}

const variantNotes = `- bare: a handler on http.ServeMux that decodes the generated type with encoding/json; no checks
- strict: the generated strict server alone; no checks
- server.New: with an Authenticator; no logger
- ogen: a server generated from a derived document, with a SecurityHandler, without OpenTelemetry
- nethttp-middleware: with an AuthenticationFunc, in front of the strict server

[go.mod](go.mod) has their versions.
`

func (r *results) inProcessTable() string {
	var b strings.Builder
	b.WriteString("| Variant | ns/op | CPU ns/op | × bare | B/op | allocs/op | large: µs/op | CPU µs/op | B/op | allocs/op |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	bare := of(r.small, bareName)
	for i, v := range r.variants {
		small, large := r.small[i], r.large[i]
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n",
			v.name, small.median(cost.ns), small.median(cost.cpu), small.ratio(bare, cost.cpu), small.median(cost.bytes), small.median(cost.allocs),
			large.median(cost.ns)/1e3, large.median(cost.cpu)/1e3, large.median(cost.bytes), large.median(cost.allocs))
	}
	return b.String()
}

func (r *results) loopbackTable() string {
	var b strings.Builder
	b.WriteString("| Variant | requests/s | × bare | server CPU µs/request | × bare |\n|---|--:|--:|--:|--:|\n")
	bare := of(r.loopback, bareName)
	for i, v := range r.variants {
		served := r.loopback[i]
		fmt.Fprintf(&b, "| %s | %.0f | %.3f | %.1f | %.2f |\n", v.name, served.median(cost.perSecond),
			served.ratio(bare, cost.perSecond), served.median(cost.cpu)/1e3, served.ratio(bare, cost.cpu))
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
	ours, strict := of(r.small, serverName), of(r.small, strictName)
	row("server.New in process, × ogen", "≤", 0.85, ours.ratio(of(r.small, ogenName), cost.cpu), "%.2f")
	row("server.New in process with the large body, × ogen", "≤", 0.85, of(r.large, serverName).ratio(of(r.large, ogenName), cost.cpu), "%.2f")
	row("nethttp-middleware in process, × server.New", "≥", 20, of(r.small, nethttp).ratio(ours, cost.cpu), "%.1f")
	row("additional allocations, compared with strict", "≤", 8, ours.median(cost.allocs)-strict.median(cost.allocs), "%.1f")
	row("server.New in process with the large body, × bare", "≤", 0.5, of(r.large, serverName).ratio(of(r.large, bareName), cost.cpu), "%.2f")
	served := of(r.loopback, serverName)
	other := of(r.loopback, bareName)
	row("loopback requests/s, × bare", "≥", 0.97, served.ratio(other, cost.perSecond), "%.3f")
	row("loopback server CPU per request, × bare", "≤", 1.15, served.ratio(other, cost.cpu), "%.2f")
	return b.String()
}
