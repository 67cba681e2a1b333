package talkinghead

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A stream is one of the streams in a file, as ffprobe describes it.
type stream struct {
	Index       int    `json:"index"`
	Kind        string `json:"codec_type"`
	Codec       string `json:"codec_name"`
	Format      string `json:"pix_fmt"`
	Channels    int    `json:"channels"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	Rate        string `json:"r_frame_rate"`
	AverageRate string `json:"avg_frame_rate"`
	Duration    string `json:"duration"`
	Aspect      string `json:"sample_aspect_ratio"`
	Space       string `json:"color_space"`
	Transfer    string `json:"color_transfer"`
	Primaries   string `json:"color_primaries"`
	Disposition struct {
		Default         int `json:"default"`
		AttachedPicture int `json:"attached_pic"`
	} `json:"disposition"`
	Tags struct {
		Alpha string `json:"alpha_mode"` // of WebM
	} `json:"tags"`
	SideData []struct {
		Rotation float64 `json:"rotation"` // by how many degrees a player rotates the pictures
	} `json:"side_data_list"`
}

// entries are what ffprobe says of a file. Comments are not among them, because they may be of any length.
const entries = "format=duration:stream=index,codec_type,codec_name,pix_fmt,channels,width,height,r_frame_rate,avg_frame_rate,duration," +
	"sample_aspect_ratio,color_space,color_transfer,color_primaries:stream_disposition=default,attached_pic:" +
	"stream_tags=alpha_mode:stream_side_data=rotation"

// probe reads the streams of the file.
func (m *media) probe(ctx context.Context, name string, orientation int, work string) error {
	var found struct {
		Streams []stream `json:"streams"`
		Format  struct {
			Duration string `json:"duration"`
		} `json:"format"`
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	args := append([]string{"-v", "error", "-of", "json", "-show_entries", entries}, m.inputArgs()...)
	output, err := newProcess(limited, "ffprobe", args...).output(maxProbed)
	if badInput(err) && !m.picture {
		// ffprobe fails if it may not open a decoder for each stream. It opens all of them now, and decodes with the list.
		var all string
		if all, err = decoders(limited); err == nil {
			args = append(args, "-vcodec_whitelist", all, "-acodec_whitelist", all, "-scodec_whitelist", all)
			output, err = newProcess(limited, "ffprobe", args...).output(maxProbed)
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil || badInput(err):
		return damaged(name)
	case err != nil:
		return err
	case json.Unmarshal(output, &found) != nil:
		return damaged(name)
	}
	video, sound := chosen(found.Streams, "video"), chosen(found.Streams, "audio")
	if m.noPictures = unusable("%s has no pictures.", name); video != nil {
		m.video = *video
		if m.noPictures, err = m.usePictures(ctx, found.Format.Duration, name, orientation, work); err != nil {
			return err
		}
	}
	if m.noSound = unusable("%s has no sound.", name); sound != nil && !m.picture {
		m.sound, m.noSound = *sound, accepted(sound, "The sound of "+lower(name))
	}
	if video == nil && sound == nil {
		return unusable("%s has neither pictures nor sound.", name)
	}
	return nil
}

// chosen returns the stream that a player plays: the first one that the file calls the default, or else the first one.
func chosen(streams []stream, kind string) *stream {
	var first *stream
	for i, s := range streams {
		if s.Kind != kind || s.Disposition.AttachedPicture == 1 { // cover art
			continue
		}
		if s.Disposition.Default == 1 {
			return &streams[i]
		}
		if first == nil {
			first = &streams[i]
		}
	}
	return first
}

// accepted returns an error unless the codec of a stream is accepted.
func accepted(s *stream, name string) error {
	if slices.Contains(strings.Split(codecs, ","), s.Codec) {
		return nil
	}
	if s.Codec == "" || s.Codec == "unknown" {
		return unusable("%s is in a format that is not known.", name)
	}
	return unusable("%s is in the format %q, which is not accepted.", name, s.Codec)
}

// decoders returns the list of the decoders of ffmpeg.
func decoders(ctx context.Context) (string, error) {
	output, err := newProcess(ctx, "ffprobe", "-v", "error", "-decoders").output(maxProbed)
	if err != nil {
		return "", err
	}
	var names []string
	_, list, _ := strings.Cut(string(output), "------\n") // after the legend
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) > 1 {
			names = append(names, fields[1])
		}
	}
	return strings.Join(names, ","), nil
}

// usePictures sets what is known of the pictures. refusal is why they cannot be used.
func (m *media) usePictures(ctx context.Context, duration, name string, orientation int, work string) (refusal, err error) {
	s := &m.video
	if err := accepted(s, name); err != nil {
		return err, nil
	}
	lying := orientation > 4
	for _, side := range s.SideData {
		lying = lying || math.Mod(math.Abs(side.Rotation), 180) == 90
	}
	if err := m.fit(s.Width, s.Height, aspect(s.Aspect), lying, name); err != nil {
		return err, nil
	}
	if m.seen, m.tags, err = s.seen(m.picture, orientation, work); err != nil {
		return nil, err
	}
	if m.picture {
		m.rate = rate{pictureRate, 1}
		return nil, nil
	}
	m.rate = frameRate(s.Rate, s.AverageRate)
	if m.duration, err = strconv.ParseFloat(s.Duration, 64); err != nil {
		m.duration, _ = strconv.ParseFloat(duration, 64)
	}
	if m.duration <= maxDuration.Seconds() {
		return nil, nil
	}
	seconds, err := m.measure(ctx) // before minutes of pictures are decoded
	switch {
	case err != nil:
		return nil, err
	case seconds > maxDuration.Seconds():
		return tooLong(name), nil
	case !m.complete(seconds):
		return damaged(name), nil
	}
	m.duration = seconds
	return nil, nil
}

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
	if _, err := strconv.ParseFloat(m.video.Duration, 64); err == nil {
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

// badInput reports whether ffmpeg or ffprobe failed because of its input, and was not killed by a signal.
func badInput(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Exited()
}

// output returns what the process writes, of which it reads little more than limit bytes.
func (p *process) output(limit int64) ([]byte, error) {
	output, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(output, limit))
	if err != nil || int64(len(data)) == limit {
		p.stop()
		return data, err
	}
	return data, p.wait()
}

// fit chooses the size of the decoded frames.
func (m *media) fit(width, height int, aspect float64, lying bool, name string) error {
	if width <= 0 || height <= 0 {
		return damaged(name)
	}
	if !m.picture && (max(width, height) > maxVideoSide || width*height > maxVideoPixels) {
		return unusable("%s is too large: it has %d × %d pixels, and at most 4K (3840 × 2160) is accepted.", name, width, height)
	}
	w, h := float64(width)*aspect, float64(height)
	if lying {
		w, h = h, w
	}
	long, short := max(w, h), min(w, h)
	shrink := min(1, 1920/long, 1080/short)
	m.width, m.height = int(w*shrink+0.01)/2*2, int(h*shrink+0.01)/2*2
	if min(m.width, m.height) < 64 {
		return unusable("%s is too small: it has %d × %d pixels, and at least 64 × 64 are needed.", name, width, height)
	}
	return nil
}

// aspect returns the ratio of the width of a pixel to its height.
func aspect(text string) float64 {
	var width, height float64
	_, _ = fmt.Sscanf(text, "%f:%f", &width, &height) // they stay 0 if the ratio is unknown
	if ratio := width / height; ratio >= 0.25 && ratio <= 4 {
		return ratio
	}
	return 1
}

// frameRate returns the frame rate of a video. If the rate varies, it returns a close one.
func frameRate(fixed, average string) rate {
	read := func(text string) (r rate) {
		_, _ = fmt.Sscanf(text, "%d/%d", &r.num, &r.den)
		return r
	}
	first, mean := read(fixed), read(average)
	if times := first.float() / mean.float(); times > 1.9 && times < 2.1 { // it counts the fields of interlaced frames
		first.den *= 2
	}
	highest := rate{pictureRate, 1}
	for _, r := range []rate{first, mean} {
		switch {
		case r.num <= 0 || r.den <= 0:
		case r.float() > maxRate+0.01:
			highest = rate{maxRate, 1}
		case r.float() >= minRate:
			return r
		}
	}
	return highest
}
