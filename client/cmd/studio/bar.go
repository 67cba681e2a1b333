package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
)

const (
	clearLine = "\r\x1b[K"
	barWidth  = 20
	// barPause is the shortest time between two updates of a bar.
	barPause = 100 * time.Millisecond
)

// bar is a progress bar for an upload or download, on one line of a terminal.
type bar struct {
	out   io.Writer // nil without a terminal
	what  string
	speed speed
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
	left := b.speed.left(done, total)
	if b.out == nil || time.Since(b.shown) < barPause && done != total {
		return
	}
	b.shown = time.Now()
	line := fmt.Sprintf("%s%s %s", clearLine, b.what, megabytes(done))
	if total > 0 {
		line = fmt.Sprintf("%s%s %s %s of %s%s", clearLine, b.what, barText(done, total), megabytes(done), megabytes(total), left)
	}
	_, _ = io.WriteString(b.out, line)
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

// speed estimates the remaining time from the average speed since the first report.
type speed struct {
	began time.Time
	first int64
}

// left returns the remaining time as the end of a line, or "" if it cannot be estimated.
func (p *speed) left(done, total int64) string {
	if p.began.IsZero() || done < p.first { // also after a retry
		p.began, p.first = time.Now(), done
	}
	elapsed := time.Since(p.began)
	if elapsed < time.Second || done <= p.first || done >= total {
		return ""
	}
	return timeLeft(time.Duration(float64(elapsed) * float64(total-done) / float64(done-p.first)))
}

func timeLeft(left time.Duration) string {
	return fmt.Sprintf(", about %v left", left.Round(time.Second))
}
