package talkinghead

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // reads the size of pictures
	_ "image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "golang.org/x/image/webp" // reads the size of pictures
)

// Limits on input.
const (
	maxDuration      = 10 * time.Minute
	maxVideoSide     = 4096             // 4K, in portrait format too
	maxVideoPixels   = 4096 * 2304      // pixels
	maxPicturePixels = 25_000_000       // pixels
	maxDecodedPixels = 40_000_000       // decoder limit; above 8K, so that 8K videos are reported as too large
	maxAlloc         = 256 << 20        // bytes per allocation of ffmpeg; a compressed header may expand a thousandfold
	maxRate          = 60               // frames per second
	pictureRate      = 25               // frames per second of a video made from a picture
	minRate          = 10               // frames per second; slower videos get repeated frames
	probeTimeout     = 30 * time.Second // a file that takes ffprobe longer is reported as damaged
	sniffedLength    = 512
)

// An InputError reports input that no attempt can use. Reason is a sentence for the person who sent the
// input.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

func unusable(format string, args ...any) error { return &InputError{fmt.Sprintf(format, args...)} }

// A container is an accepted file format. Formats are detected by the first bytes of a file. The detection
// of ffmpeg is not used, because it accepts playlists, which name other files.
type container struct {
	demuxer string
	picture bool
	starts  []string // the possible first bytes; a question mark stands for any byte
}

//nolint:gochecknoglobals // a table
var containers = []container{
	{"jpeg_pipe", true, []string{"\xff\xd8\xff"}},
	{"png_pipe", true, []string{"\x89PNG\r\n\x1a\n"}},
	{"webp_pipe", true, []string{"RIFF????WEBP"}},
	{"mov", false, []string{"????ftyp", "????moov", "????mdat", "????wide", "????free", "????skip"}},
	{"matroska", false, []string{"\x1aE\xdf\xa3"}},
	{"avi", false, []string{"RIFF????AVI "}},
	{"wav", false, []string{"RIFF????WAVE", "RF64????WAVE"}},
	{"ogg", false, []string{"OggS"}},
	{"flac", false, []string{"fLaC"}},
	{"mp3", false, []string{"ID3", "\xff\xfb", "\xff\xf3", "\xff\xf2", "\xff\xfa"}},
	{"aac", false, []string{"\xff\xf1", "\xff\xf9"}},
	{"aiff", false, []string{"FORM????AIFF", "FORM????AIFC"}},
}

func (c container) is(head []byte) bool {
	return slices.ContainsFunc(c.starts, func(start string) bool {
		for i := range start {
			if i == len(head) || start[i] != '?' && start[i] != head[i] {
				return false
			}
		}
		return true
	})
}

// codecs lists the codecs that ffmpeg may decode with.
const codecs = "h264,hevc,vp8,vp9,av1,libdav1d,libvpx-vp9,mpeg4,mpeg2video,h263,theora,prores,mjpeg,png,webp," +
	"aac,mp3,mp3float,mp2,opus,libopus,vorbis,flac,alac,ac3,eac3,amrnb,amrwb,wmav2,adpcm_ms,adpcm_ima_wav," +
	"pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_u8,pcm_s8,pcm_alaw,pcm_mulaw"

// media is an input file that passed the checks of open.
type media struct {
	path    string
	demuxer string
	picture bool
	// width and height are the size of the decoded frames: upright, even, and at most 1080p.
	width, height int
	rate          rate
	duration      float64 // in seconds, of the pictures or else of the sound
	video, sound  bool
	tags          colorTags
	limit         float64 // seconds of the file that are used; 0 for all
	spool         *spool  // decoded frames, or nil
	still         *frame  // the frame of a picture once it was decoded
}

// rate is a number of frames per second.
type rate struct{ num, den int }

func (r rate) float() float64 { return float64(r.num) / float64(r.den) }
func (r rate) String() string { return strconv.Itoa(r.num) + "/" + strconv.Itoa(r.den) }

// colorTags describe how a video encodes colours, by the names of ffmpeg.
type colorTags struct{ space, transfer, primaries string }

// rgbTags are the tags of frames that were converted from RGB.
//
//nolint:gochecknoglobals // a constant
var rgbTags = colorTags{"bt709", "bt709", "bt709"}

// inputArgs returns arguments for ffmpeg and ffprobe that make them read this file and no other.
func (m *media) inputArgs() []string {
	return []string{
		"-protocol_whitelist", "file,pipe", "-f", m.demuxer, "-codec_whitelist", codecs,
		"-max_pixels", strconv.Itoa(maxDecodedPixels), "-max_alloc", strconv.Itoa(maxAlloc), "-i", "file:" + m.path,
	}
}

// open checks a file. A file that is not accepted is an [*InputError]. name is the subject of its sentence,
// such as "The video".
func open(ctx context.Context, path, name string) (*media, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := bufio.NewReader(f)
	head, err := buffered.Peek(sniffedLength)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, unusable("%s is empty.", name)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	i := slices.IndexFunc(containers, func(c container) bool { return c.is(head) })
	if i < 0 {
		return nil, unusable("%s is of a type that is not accepted. Send MP4, MOV, WebM, MKV, AVI, JPEG, PNG or WebP, "+
			"and sound as WAV, MP3, M4A, OGG or FLAC.", name)
	}
	m := &media{path: path, demuxer: containers[i].demuxer, picture: containers[i].picture}
	if m.picture { // its size is checked before anything decodes it
		config, _, err := image.DecodeConfig(buffered)
		switch {
		case err != nil:
			return nil, damaged(name)
		case config.Width*config.Height > maxPicturePixels:
			return nil, unusable("%s is too large: it has %d × %d pixels, and at most %d million are accepted.", name, config.Width, config.Height, maxPicturePixels/1_000_000)
		}
	}
	return m, m.probe(ctx, name)
}

// probed is the output of ffprobe.
type probed struct {
	Streams []struct {
		Kind        string `json:"codec_type"`
		Codec       string `json:"codec_name"`
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
			AttachedPicture int `json:"attached_pic"`
		} `json:"disposition"`
		SideData []rotation `json:"side_data_list"`
	} `json:"streams"`
	Frames []struct { // of a picture
		SideData []rotation `json:"side_data_list"`
	} `json:"frames"`
	Format struct {
		Duration string `json:"duration"`
	} `json:"format"`
}

// rotation is by how many degrees a player rotates the pictures.
type rotation struct {
	Degrees float64 `json:"rotation"`
}

// probe reads the streams of the file with ffprobe.
func (m *media) probe(ctx context.Context, name string) error {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// Entries such as comments are not requested, because they may be of any length.
	entries := "format=duration:stream=codec_type,codec_name,width,height,r_frame_rate,avg_frame_rate,duration,sample_aspect_ratio," +
		"color_space,color_transfer,color_primaries:stream_disposition=attached_pic:stream_side_data=rotation"
	if m.picture {
		entries += ":frame=:frame_side_data=rotation" // cameras store their orientation there
	}
	args := []string{"-v", "error", "-of", "json", "-show_entries", entries}
	args = append(args, m.inputArgs()...)
	output, err := exec.CommandContext(limited, "ffprobe", args...).Output()
	var found probed
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil || badInput(err):
		return damaged(name)
	case err != nil:
		return fmt.Errorf("ffprobe: %w", err)
	case json.Unmarshal(output, &found) != nil:
		return damaged(name)
	}
	accepted := strings.Split(codecs, ",")
	m.duration, _ = strconv.ParseFloat(found.Format.Duration, 64)
	for _, s := range found.Streams {
		switch {
		case s.Disposition.AttachedPicture == 1: // cover art
		case s.Kind == "audio" && !m.sound:
			if !slices.Contains(accepted, s.Codec) {
				return unusable("The sound of %s is in the format %q, which is not accepted.", lower(name), s.Codec)
			}
			m.sound = true
		case s.Kind == "video" && !m.video:
			if !slices.Contains(accepted, s.Codec) {
				return unusable("%s is in the format %q, which is not accepted.", name, s.Codec)
			}
			m.video = true
			if d, err := strconv.ParseFloat(s.Duration, 64); err == nil {
				m.duration = d
			}
			sides := s.SideData
			for _, frame := range found.Frames {
				sides = append(sides, frame.SideData...)
			}
			lying := slices.ContainsFunc(sides, func(side rotation) bool { return math.Mod(math.Abs(side.Degrees), 180) == 90 })
			if err := m.fit(s.Width, s.Height, aspect(s.Aspect), lying, name); err != nil {
				return err
			}
			m.rate = frameRate(s.Rate, s.AverageRate)
			if m.tags = (colorTags{s.Space, s.Transfer, s.Primaries}); s.Space == "gbr" {
				m.tags = rgbTags
			}
		}
	}
	switch {
	case m.picture && m.video:
		m.rate, m.duration, m.sound, m.tags = rate{pictureRate, 1}, 0, false, rgbTags
	case !m.video && !m.sound:
		return unusable("%s has neither pictures nor sound.", name)
	case m.duration > maxDuration.Seconds():
		return tooLong(name)
	}
	return nil
}

// badInput reports whether ffmpeg or ffprobe failed because of its input, and was not killed by a signal.
func badInput(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Exited()
}

func damaged(name string) error {
	return unusable("%s cannot be read: the file is damaged, incomplete or of a kind that is not accepted.", name)
}

func tooLong(name string) error {
	return unusable("%s is too long: at most %d minutes are accepted.", name, int(maxDuration.Minutes()))
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
	highest := rate{pictureRate, 1}
	for _, text := range []string{fixed, average} {
		var r rate
		_, _ = fmt.Sscanf(text, "%d/%d", &r.num, &r.den)
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

func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }
