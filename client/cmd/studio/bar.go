package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	clearLine = "\r\x1b[K"
	barWidth  = 20
	// barPause is between two pictures of a bar.
	barPause = 100 * time.Millisecond
)

// bar is a line of a terminal that shows how many bytes of a file have been moved.
type bar struct {
	out   io.Writer // nil when there is no terminal
	what  string
	pace  pace
	drawn time.Time
}

// newBar makes the bar of an upload or a download, which is not mixed with what is written to Stdout.
func (p *program) newBar(what string) *bar {
	b := &bar{what: printable(what)}
	if p.StderrTerminal {
		b.out = p.Stderr
	}
	return b
}

// show draws the bar. It is a report of [client.WithProgress].
func (b *bar) show(done, total int64) {
	left := b.pace.left(done, total)
	if b.out == nil || time.Since(b.drawn) < barPause && done != total {
		return
	}
	b.drawn = time.Now()
	line := fmt.Sprintf("%s%s %s", clearLine, b.what, megabytes(done))
	if total > 0 {
		line = fmt.Sprintf("%s%s %s %s of %s%s", clearLine, b.what, picture(done, total), megabytes(done), megabytes(total), left)
	}
	_, _ = io.WriteString(b.out, line)
}

// end ends the line.
func (b *bar) end() {
	if !b.drawn.IsZero() {
		_, _ = fmt.Fprintln(b.out)
	}
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// picture is a bar and the per cent that it stands for.
func picture(done, total int64) string {
	done = min(max(done, 0), total)
	full := int(barWidth * done / total)
	return fmt.Sprintf("[%s%s] %3d %%", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), 100*done/total)
}

// pace tells how long something takes still, from how fast it has been since it was first seen.
type pace struct {
	began time.Time
	first int64
}

// left is the time that is left, for the end of a line; "" when nobody can know.
func (p *pace) left(done, total int64) string {
	if p.began.IsZero() || done < p.first { // also when it is sent again
		p.began, p.first = time.Now(), done
	}
	elapsed := time.Since(p.began)
	if elapsed < time.Second || done <= p.first || done >= total {
		return ""
	}
	left := time.Duration(float64(elapsed) * float64(total-done) / float64(done-p.first))
	return fmt.Sprintf(", about %v left", left.Round(time.Second))
}
