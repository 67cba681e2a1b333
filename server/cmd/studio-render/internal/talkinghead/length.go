package talkinghead

import (
	"bufio"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
)

// measure returns the time from the beginning of the file to the end of the last packet of its pictures, in seconds. It
// decodes nothing, and stops when they are too long.
func (m *media) measure(ctx context.Context) (seconds float64, err error) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	args := append([]string{"-v", "error", "-of", "csv=p=0", "-show_entries", "packet=stream_index,pts_time,duration_time"}, m.inputArgs()...)
	p := newProcess(limited, "ffprobe", args...)
	output, err := p.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := p.Start(); err != nil {
		return 0, err
	}
	defer p.stop()
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
	return seconds, ctx.Err()
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
	seconds, err := m.measure(ctx)
	return enough(seconds) && m.complete(seconds), err
}

// complete reports whether the end of a file is there, whose pictures last for so many seconds. In some files, only
// the length of the file is known, of which another stream may be the longest.
func (m *media) complete(seconds float64) bool {
	if _, err := strconv.ParseFloat(m.video.Duration, 64); err == nil && m.demuxer != "avi" {
		return seconds >= m.duration*0.9-0.5
	}
	f, err := os.Open(m.path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	head := make([]byte, sniffedLength)
	n, _ := f.ReadAt(head, 0) // what is missing is not found
	if m.demuxer == "avi" {   // one that was written to a pipe says any length, and that its size is unknown
		size := binary.LittleEndian.Uint32(head[4:])
		return size == math.MaxUint32 || int64(size) <= info.Size()
	}
	at := uint64(0)
	for range 2 { // the header of a Matroska file, and its segment
		size, length := ebmlSize(head[min(at+4, uint64(n)):n])
		if length == 0 {
			return true // the size is unknown
		}
		at += 4 + uint64(length) + size
	}
	return at <= uint64(info.Size())
}

// ebmlSize returns the size of an element of Matroska, and how many bytes tell it; 0 if it is unknown.
func ebmlSize(head []byte) (size uint64, length int) {
	if len(head) == 0 {
		return 0, 0
	}
	length = bits.LeadingZeros8(head[0]) + 1
	if length > 8 || length > len(head) {
		return 0, 0
	}
	for _, b := range head[:length] {
		size = size<<8 | uint64(b)
	}
	most := uint64(1)<<(7*length) - 1
	if size &= most; size == most {
		return 0, 0
	}
	return size, length
}
