package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

const (
	// clearLine begins a line that replaces the one before, and uncut ends it. Between them, a terminal cuts what is
	// too long: if it wrapped that, only the last row would be replaced.
	clearLine = "\r\x1b[K\x1b[?7l"
	uncut     = "\x1b[?7h"
	barWidth  = 20
	// barPause is the shortest time between two updates of a bar.
	barPause = 100 * time.Millisecond
)

// bar is a progress bar for an upload or download, on one line of a terminal.
type bar struct {
	out   io.Writer // nil without a terminal
	what  string
	shown time.Time // last update
}

// newBar returns the bar of an upload or download. It writes to Stderr, because Stdout has the output of the command.
func (p *program) newBar(what string) *bar {
	b := &bar{what: commandline.Printable(what)}
	if p.StderrTerminal {
		b.out = p.Stderr
	}
	return b
}

// show redraws the bar. It is a callback of [client.WithProgress].
func (b *bar) show(done, total int64) {
	if b.out == nil || time.Since(b.shown) < barPause && done != total {
		return
	}
	b.shown = time.Now()
	line := megabytes(done)
	if total > 0 {
		line = fmt.Sprintf("%s %s of %s", barText(done, total), line, megabytes(total))
	}
	_, _ = io.WriteString(b.out, clearLine+line+" "+b.what+uncut)
}

// end ends the line of the bar.
func (b *bar) end() {
	if !b.shown.IsZero() {
		_, _ = fmt.Fprintln(b.out)
	}
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// barText returns a bar with its percentage.
func barText(done, total int64) string {
	done = min(max(done, 0), total)
	full := int(barWidth * done / total)
	return fmt.Sprintf("[%s%s] %3d %%", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), 100*done/total)
}
