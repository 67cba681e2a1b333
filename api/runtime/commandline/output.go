package commandline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
)

// Table prints records as rows with aligned columns, or as one JSON object per line.
type Table struct {
	out  io.Writer
	rows *tabwriter.Writer // nil for JSON
	err  error             // of the first Add that failed
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
	switch {
	case t.err != nil:
	case t.rows == nil:
		t.err = PrintJSON(t.out, record)
	default:
		for i, cell := range cells {
			cells[i] = cmp.Or(Printable(cell), "-")
		}
		_, t.err = fmt.Fprintln(t.rows, strings.Join(cells, "\t"))
	}
	return t.err
}

// Flush prints the rows. It also returns the error of an Add, after which nothing is added.
func (t *Table) Flush() error {
	if t.rows == nil {
		return t.err
	}
	return cmp.Or(t.err, t.rows.Flush())
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

// PrintJSON writes a value as one line of JSON. It escapes characters that could control a terminal.
func PrintJSON(out io.Writer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	var safe strings.Builder
	for _, r := range strings.TrimSuffix(line.String(), "\n") {
		if unicode.IsPrint(r) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&safe, `\u%04x`, unit)
		}
	}
	_, err := fmt.Fprintln(out, safe.String())
	return err
}
