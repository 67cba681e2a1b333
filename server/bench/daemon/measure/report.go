package measure

import (
	"fmt"
	"runtime"
	"strings"
)

// Figure is a measured value and its target.
type Figure struct {
	Name, Target, Measured string
	Met                    bool
}

// String returns the measured value, and marks it if it misses the target.
func (f Figure) String() string {
	if f.Met {
		return f.Measured
	}
	return "**missed:** " + f.Measured
}

// figure is [Figure], or the type of a benchmark that writes figures without the names of their fields.
type figure interface {
	~struct {
		Name, Target, Measured string
		Met                    bool
	}
}

// Report has the figures of each database. The figures of all databases have the same names in the same order.
type Report[F figure] struct {
	databases []string
	figures   [][]F
}

// Add adds the figures of a database.
func (r *Report[F]) Add(database string, figures []F) {
	r.databases, r.figures = append(r.databases, database), append(r.figures, figures)
}

// Table formats the figures as a Markdown table. A target that differs from that of the first database is shown with the
// name of the database.
func (r *Report[F]) Table() string {
	var b strings.Builder
	b.WriteString("| | Target | " + strings.Join(r.databases, " | ") + " |\n|---|---" + strings.Repeat("|---", len(r.databases)) + "|\n")
	for row, first := range r.figures[0] {
		target, measured := Figure(first).Target, ""
		for i, database := range r.databases {
			f := Figure(r.figures[i][row])
			if f.Target != Figure(first).Target {
				target += " (" + database + ": " + f.Target + ")"
			}
			measured += " " + f.String() + " |"
		}
		fmt.Fprintf(&b, "| %s | %s |%s\n", Figure(first).Name, target, measured)
	}
	return b.String()
}

// Machine describes this machine.
func Machine() string {
	return fmt.Sprintf("%s %s/%s, %d CPUs.", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
