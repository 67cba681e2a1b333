package harness

import (
	"fmt"
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

// Table formats the figures of each database as a Markdown table. The figures of all databases have the same names in
// the same order. A target that differs from that of the first database is shown with the name of the database.
func Table[F ~struct {
	Name, Target, Measured string
	Met                    bool
}](databases []string, figures [][]F) string {
	var b strings.Builder
	b.WriteString("| | Target | " + strings.Join(databases, " | ") + " |\n|---|---" + strings.Repeat("|---", len(databases)) + "|\n")
	for row, first := range figures[0] {
		target, measured := Figure(first).Target, ""
		for i := range databases {
			f := Figure(figures[i][row])
			if f.Target != Figure(first).Target {
				target += " (" + databases[i] + ": " + f.Target + ")"
			}
			measured += " " + f.String() + " |"
		}
		fmt.Fprintf(&b, "| %s | %s |%s\n", Figure(first).Name, target, measured)
	}
	return b.String()
}
