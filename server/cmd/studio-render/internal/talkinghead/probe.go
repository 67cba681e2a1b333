package talkinghead

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
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
	SideData []sideData `json:"side_data_list"`
}

// sideData says by how many degrees a player, and ffmpeg, rotates the pictures, if at all.
type sideData struct {
	Rotation *float64 `json:"rotation"`
}

// entries are what ffprobe says of a file. Comments are not among them, because they may be of any length.
const entries = "format=duration:stream=index,codec_type,codec_name,pix_fmt,channels,width,height,r_frame_rate,avg_frame_rate,duration," +
	"sample_aspect_ratio,color_space,color_transfer,color_primaries:stream_disposition=default,attached_pic:" +
	"stream_tags=alpha_mode:stream_side_data=rotation"

// pictureEntries are what ffprobe says of a picture, too: its orientation by EXIF, from 1, which is upright, to 8.
const pictureEntries = ":frame_tags=Orientation:frame_side_data=rotation"

// What ffprobe says if the end of a JPEG is missing, of which ffmpeg paints the rest green, or that of a Matroska file.
const (
	noEndOfPicture = "EOI missing"
	noEndOfFile    = "File ended prematurely"
)

// probe reads the streams of the file.
func (m *media) probe(ctx context.Context, name string) error {
	var found struct {
		Streams []stream `json:"streams"`
		Frames  []struct {
			Tags struct {
				Orientation string `json:"Orientation"`
			} `json:"tags"`
			SideData []sideData `json:"side_data_list"`
		} `json:"frames"`
		Format struct {
			Duration string `json:"duration"`
		} `json:"format"`
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	args := append([]string{"-v", "warning", "-of", "json", "-show_entries", entries}, m.inputArgs()...)
	if m.picture {
		args[5] += pictureEntries
		args = append(args, "-read_intervals", "%+#1") // of its first frame
	}
	p := newProcess(limited, "ffprobe", args...)
	output, err := p.output()
	if badInput(err) && !m.picture {
		// ffprobe fails if it may not open a decoder for each stream. It opens all of them now, and decodes with the
		// list.
		var all string
		if all, err = decoders(limited); err == nil {
			args = append(args, "-vcodec_whitelist", all, "-acodec_whitelist", all, "-scodec_whitelist", all)
			output, err = newProcess(limited, "ffprobe", args...).output()
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil || badInput(err) || m.picture && p.says(noEndOfPicture):
		return damaged(name)
	case err != nil:
		return err
	case json.Unmarshal(output, &found) != nil:
		return damaged(name)
	}
	video, sound := chosen(found.Streams, "video"), chosen(found.Streams, "audio")
	if m.noPictures = unusable("%s has no pictures.", name); video != nil {
		m.video = *video
		orientation := 0
		for _, f := range found.Frames {
			orientation, _ = strconv.Atoi(strings.TrimSpace(f.Tags.Orientation))
			if slices.ContainsFunc(f.SideData, func(s sideData) bool { return s.Rotation != nil }) {
				m.video.SideData = f.SideData // ffmpeg turns it
				orientation = 1
			}
		}
		if orientation == 0 && m.demuxer == "png_pipe" {
			if orientation, err = orientationOfPNG(m.path); err != nil {
				return err
			}
		}
		if orientation < 1 || orientation >= len(turns) {
			orientation = 1
		}
		if m.noPictures, err = m.usePictures(ctx, found.Format.Duration, name, orientation); err != nil {
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
	return unusable("%s is in the format %q, which is not accepted.", name, cmp.Or(s.Codec, "unknown"))
}

// decoders returns the list of the decoders of ffmpeg.
func decoders(ctx context.Context) (string, error) {
	output, err := newProcess(ctx, "ffprobe", "-v", "error", "-decoders").output()
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
func (m *media) usePictures(ctx context.Context, duration, name string, orientation int) (refusal, err error) {
	s := &m.video
	if err := accepted(s, name); err != nil {
		return err, nil
	}
	lying := orientation > 4
	for _, side := range s.SideData {
		lying = lying || side.Rotation != nil && math.Mod(math.Abs(*side.Rotation), 180) == 90
	}
	if err := m.fit(s.Width, s.Height, aspect(s.Aspect), lying, name); err != nil {
		return err, nil
	}
	m.seen, m.tags = s.filters(m.picture, orientation)
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
	seconds, cut, err := m.measure(ctx) // before minutes of pictures are decoded
	switch {
	case err != nil:
		return nil, err
	case seconds > maxDuration.Seconds():
		return tooLong(name), nil
	case !m.complete(seconds, cut):
		return damaged(name), nil
	}
	m.duration = seconds
	return nil, nil
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
	switch {
	case min(m.width, m.height) >= 64:
		return nil
	case shrink < 1:
		return unusable("%s is too narrow: its %d × %d pixels become %d × %d in 1080p, and at least 64 × 64 are needed.", name, width, height, m.width, m.height)
	}
	return unusable("%s is too small: it has %d × %d pixels, and at least 64 × 64 are needed.", name, width, height)
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
