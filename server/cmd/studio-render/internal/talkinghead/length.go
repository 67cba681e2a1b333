package talkinghead

import (
	"bufio"
	"context"
	"math"
	"strconv"
	"strings"
)

// measure returns the time from the beginning of the file to the end of the last packet of its pictures, in seconds. It
// decodes nothing, and stops when they are too long. cut reports whether ffprobe says that the end of the file is
// missing.
func (m *media) measure(ctx context.Context) (seconds float64, cut bool, err error) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	args := append([]string{"-v", "error", "-of", "csv=p=0", "-show_entries", "packet=stream_index,pts_time,duration_time"}, m.inputArgs()...)
	p := newProcess(limited, "ffprobe", args...)
	output, err := p.open()
	if err != nil {
		return 0, false, err
	}
	begin, index := math.Inf(1), strconv.Itoa(m.video.Index)
	for lines := bufio.NewScanner(output); lines.Scan() && seconds <= maxDuration.Seconds(); {
		fields := strings.SplitN(lines.Text(), ",", 4)
		if len(fields) < 3 {
			continue
		}
		at, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			continue // an unknown time
		}
		lasts, _ := strconv.ParseFloat(fields[2], 64) // 0 if it is unknown
		if begin = min(begin, at); fields[0] == index {
			seconds = max(seconds, at+lasts-begin)
		}
	}
	p.stop()
	return seconds, p.says(noEndOfFile), ctx.Err()
}

// whole reports whether so many frames are all that is used of the file, even if it says that it is longer.
func (m *media) whole(ctx context.Context, frames int) (bool, error) {
	enough := func(seconds float64) bool {
		if m.limit > 0 {
			seconds = min(seconds, m.limit)
		}
		return float64(frames) >= seconds*m.rate.float()*0.9-m.rate.float()/2
	}
	if frames == 0 || enough(m.duration) {
		return frames > 0, nil
	}
	seconds, cut, err := m.measure(ctx)
	return enough(seconds) && m.complete(seconds, cut), err
}

// complete reports whether the end of a file is there, whose pictures last for so many seconds. In some files, only
// the length of the file is known, of which another stream may be the longest, and which may be wrong.
func (m *media) complete(seconds float64, cut bool) bool {
	switch _, err := strconv.ParseFloat(m.video.Duration, 64); {
	case m.demuxer == "avi": // one that was written to a pipe says any length
		return true
	case err == nil:
		return seconds >= m.duration*0.9-0.5
	default:
		return !cut
	}
}
