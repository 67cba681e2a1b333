package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/urfave/cli/v3"
)

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object a line"}
}

// printJSON writes a value in one line. What a terminal might obey is escaped, as JSON allows.
func printJSON(out io.Writer, value any) error {
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

// printList prints one JSON object an item with --json, and else a table, or that there is none.
func printList[T any](command *cli.Command, items []T, none string, header []string, row func(T) []string) error {
	out := command.Root().Writer
	if command.Bool("json") {
		for _, item := range items {
			if err := printJSON(out, item); err != nil {
				return err
			}
		}
		return nil
	}
	if len(items) == 0 {
		return printNote(command, none)
	}
	rows := [][]string{header}
	for _, item := range items {
		rows = append(rows, row(item))
	}
	return printTable(out, rows...)
}

// printNote tells the user what is no part of the output.
func printNote(command *cli.Command, text string) error {
	_, err := fmt.Fprintln(command.Root().ErrWriter, text)
	return err
}

// printTable aligns rows in columns. No cell reaches a terminal with anything that it might obey.
func printTable(out io.Writer, rows ...[]string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t")) // Flush reports what goes wrong
	}
	return table.Flush()
}

// printable is text as it is, or quoted when a character of it does not show.
func printable(text string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.ContainsFunc(text, hidden) {
		return strconv.Quote(text)
	}
	return text
}

// withoutQuery shows a webhook URL without its query, which may hold a secret.
func withoutQuery(webhookURL string) string {
	u, err := url.Parse(webhookURL)
	if err != nil {
		return "?…"
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	if u.RawQuery != "" || u.Fragment != "" {
		shown += "?…"
	}
	return shown
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// dash stands for what there is not.
func dash(text string) string {
	if text == "" || text == "0" {
		return "-"
	}
	return text
}
