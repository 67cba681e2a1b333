package talkinghead

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The form of subtitles.
const (
	maxColumns  = 42 // of a line; a full-width character has two
	maxLines    = 2
	minCue      = 1.0 // seconds, unless the next cue begins before
	maxCue      = 7.0 // seconds, unless a single word lasts longer
	longPause   = 0.7 // seconds of silence at which a cue ends
	maxCueWords = maxLines * maxColumns
)

// A cue is what is shown at a time, given in seconds.
type cue struct {
	from, to float64
	lines    []string
}

// cuesOf returns the subtitles of words, in their order and without overlaps. It finds the best ends of cues by dynamic
// programming.
func cuesOf(words []word) (cues []cue) {
	words = timed(words)
	costs, starts := make([]float64, len(words)+1), make([]int, len(words)+1)
	for end := 1; end <= len(words); end++ {
		costs[end] = math.Inf(1)
		for start := end - 1; start >= max(0, end-maxCueWords); start-- {
			cost, fits := cueCost(words[start:end])
			if !fits {
				break
			}
			if cost += costs[start]; cost < costs[end] {
				costs[end], starts[end] = cost, start
			}
		}
	}
	for end := len(words); end > 0; end = starts[end] {
		shown := words[starts[end]:end]
		lines := []string{join(shown)}
		if at, _ := lineBreak(shown); at > 0 {
			lines = []string{join(shown[:at]), join(shown[at:])}
		}
		first := max(0, slices.IndexFunc(shown, func(w word) bool { return w.weight > 0 }))
		cues = append(cues, cue{shown[first].from, shown[len(shown)-1].to, lines})
	}
	slices.Reverse(cues)
	for i := range cues {
		c := &cues[i]
		c.to = max(c.to, c.from+minCue)
		if i+1 < len(cues) {
			c.to = min(c.to, cues[i+1].from)
		}
	}
	return cues
}

// timed returns words whose times rise by at least a millisecond. A word without sounds gets the time of the words
// around it.
func timed(words []word) (list []word) {
	at := 0.0
	for _, w := range words {
		if w.to == 0 {
			w.weight = 0
		}
		w.from = max(w.from, at)
		w.to = max(w.to, w.from+0.001)
		at = w.to
		list = append(list, w)
	}
	return list
}

// cueCost returns how bad it is to show words as one cue, and whether they fit.
func cueCost(words []word) (cost float64, fits bool) {
	first, last := words[0], words[len(words)-1]
	seconds := last.to - first.from
	if _, fits := lineBreak(words); !fits || seconds > maxCue && len(words) > 1 {
		return 0, false
	}
	cost = 1 + 3*max(0, minCue-seconds)
	switch last.end {
	case inClause:
		cost += 4
	case endsClause:
		cost++
	case endsSentence:
	}
	for i, w := range words[:len(words)-1] {
		if w.end == endsSentence {
			cost += 1.5
		}
		if words[i+1].from-w.to > longPause {
			cost += 4
		}
	}
	return cost, true
}

// lineBreak returns the number of words on the first of two lines, or 0 if all fit on one line, and reports whether
// they fit. The first line ends at a clause if possible, or is about as long as the second.
func lineBreak(words []word) (at int, fits bool) {
	total := columns(words)
	if total <= maxColumns {
		return 0, true
	}
	if total > maxLines*maxColumns+1 {
		return 0, false
	}
	least, head := math.Inf(1), 0
	for i := 1; i < len(words); i++ {
		head += words[i-1].columns
		tail := total - head
		if words[i-1].space {
			tail--
		}
		if head > maxColumns {
			break
		}
		if bad := math.Abs(float64(head - tail)); tail <= maxColumns {
			if words[i-1].end == inClause {
				bad += 2 * maxColumns / 3
			}
			if bad < least {
				at, least = i, bad
			}
		}
		if words[i-1].space {
			head++
		}
	}
	return at, at > 0
}

// columns returns the width of words in one line.
func columns(words []word) (n int) {
	for i, w := range words {
		n += w.columns
		if w.space && i < len(words)-1 {
			n++
		}
	}
	return n
}

func join(words []word) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w.text)
		if w.space {
			b.WriteByte(' ')
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// SRT has no escapes, and players interpret tags in angle brackets and braces.
//
//nolint:gochecknoglobals // a table
var (
	srtText = strings.NewReplacer("<", "‹", ">", "›", "{", "(", "}", ")")
	vttText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

// srt returns cues as a file of SubRip.
func srt(cues []cue) string { return numbered(cues, ",", srtText) }

// vtt returns cues as a file of WebVTT.
func vtt(cues []cue) string { return "WEBVTT\n\n" + numbered(cues, ".", vttText) }

// numbered returns cues with their numbers. The point is that of their times.
func numbered(cues []cue, point string, text *strings.Replacer) string {
	var b strings.Builder
	for i, c := range cues {
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, stamp(c.from, point), stamp(c.to, point), text.Replace(strings.Join(c.lines, "\n")))
	}
	return b.String()
}

// writeSubtitles writes cues to files in dir and returns their paths.
func writeSubtitles(cues []cue, dir string) (subtitles, captions string, err error) {
	subtitles, captions = filepath.Join(dir, subtitlesName), filepath.Join(dir, captionsName)
	return subtitles, captions, errors.Join(
		os.WriteFile(subtitles, []byte(srt(cues)), 0o600), os.WriteFile(captions, []byte(vtt(cues)), 0o600))
}

// stamp returns a time as hours, minutes, seconds and milliseconds.
func stamp(seconds float64, point string) string {
	at := time.Duration(math.Round(seconds*1000)) * time.Millisecond
	return fmt.Sprintf("%02d:%02d:%02d%s%03d", at/time.Hour, at/time.Minute%60, at/time.Second%60, point, at/time.Millisecond%1000)
}
