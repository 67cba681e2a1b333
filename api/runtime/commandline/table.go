package commandline

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Table prints records as rows with aligned columns, or as one JSON object per line.
type Table struct {
	out  io.Writer
	rows *tabwriter.Writer // nil for JSON
	err  error             // of the JSON
}

// NewTable returns a table with a header, if columns are given.
func NewTable(out io.Writer, json bool, columns ...string) *Table {
	if json {
		return &Table{out: out}
	}
	t := &Table{rows: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if len(columns) > 0 {
		_ = t.Add(nil, columns...) // Flush returns write errors
	}
	return t
}

// Add adds a record: its JSON, or a row of cells as [Printable] returns them, with "-" for an empty one.
func (t *Table) Add(record any, cells ...string) error {
	if t.rows == nil {
		t.err = cmp.Or(t.err, PrintJSON(t.out, record))
		return t.err
	}
	for i, cell := range cells {
		cells[i] = cmp.Or(Printable(cell), "-")
	}
	_, err := fmt.Fprintln(t.rows, strings.Join(cells, "\t"))
	return err
}

// Flush prints the rows. It also returns the error of an Add.
func (t *Table) Flush() error {
	if t.rows == nil {
		return t.err
	}
	return t.rows.Flush()
}

// Printable escapes control characters and characters that change the direction of text.
func Printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}
