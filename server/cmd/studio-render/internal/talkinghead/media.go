package talkinghead

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // reads the size of pictures
	_ "image/png"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "golang.org/x/image/webp" // reads the size of pictures

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
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
	maxProbed        = 1 << 20          // bytes that ffprobe may say of a file
	sniffedLength    = 512
)

// unusable returns the error of input that no attempt can use, which is a sentence for the person who sent it.
func unusable(format string, args ...any) error {
	return &protocol.Error{Reason: fmt.Sprintf(format, args...), Permanent: true}
}

// A container is a file format. Formats are detected by the first bytes of a file. The detection of ffmpeg is not used,
// because it accepts playlists, which name other files.
type container struct {
	demuxer string // of ffmpeg
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

// refused are formats that are not accepted, by their names. Some of them look like an accepted one.
//
//nolint:gochecknoglobals // a table
var refused = []container{
	{"HEIC or AVIF", true, []string{"????ftyphe", "????ftypmif1", "????ftypmsf1", "????ftypavi"}},
	{"GIF", true, []string{"GIF8"}},
	{"TIFF", true, []string{"II*\x00", "MM\x00*"}},
	{"BMP", true, []string{"BM????\x00\x00\x00\x00"}},
	{"WMV or WMA", false, []string{"\x30\x26\xb2\x75\x8e\x66\xcf\x11"}},
	{"FLV", false, []string{"FLV\x01"}},
	{"MPEG", false, []string{"\x00\x00\x01\xba", "\x00\x00\x01\xb3", "G" + strings.Repeat("?", 187) + "G", "????G" + strings.Repeat("?", 191) + "G"}},
	{"AMR", false, []string{"#!AMR"}},
	{"PDF", false, []string{"%PDF-"}},
	{"a playlist", false, []string{"#EXTM3U"}},
	{"SVG", true, []string{"<svg"}},
	{"JSON", false, []string{"{\""}},
	{"HTML", false, []string{"<!doctype html", "<!DOCTYPE html", "<html"}},
}

// unknownLength is the length in the header of an AVI file whose writer could not go back to it. Others write 0.
const unknownLength = math.MaxUint32

// animated is the flag of an animation in the chunk VP8X of a WebP file.
const animated = 2

// find returns the index of the format in a list, or -1.
func find(list []container, head []byte) int {
	return slices.IndexFunc(list, func(c container) bool { return c.is(head) })
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
const codecs = "h264,hevc,vp8,vp9,av1,libdav1d,libvpx,libvpx-vp9,mpeg4,mpeg2video,h263,theora,prores,mjpeg,png,webp," +
	"aac,mp3,mp3float,mp2,opus,libopus,vorbis,flac,alac,ac3,eac3,amrnb,amrwb,wmav2,adpcm_ms,adpcm_ima_wav," +
	"pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_u8,pcm_s8,pcm_alaw,pcm_mulaw"

// media is an input file that passed the checks of open.
type media struct {
	path    string
	demuxer string
	picture bool
	// noPictures and noSound are why the pictures and the sound cannot be used. It is no error unless they are used.
	noPictures, noSound error
	video, sound        stream
	// width and height are the size of the decoded frames: upright, even, and at most 1080p.
	width, height int
	rate          rate
	duration      float64   // of the pictures in seconds, as the file says, which may be wrong
	tags          colorTags // of the decoded frames
	seen          seen
	limit         float64 // seconds of the file that are used; 0 for all
	still         *frame  // the frame of a picture once it was decoded
}

// rate is a number of frames per second.
type rate struct{ num, den int }

func (r rate) float() float64 { return float64(r.num) / float64(r.den) }
func (r rate) String() string { return strconv.Itoa(r.num) + "/" + strconv.Itoa(r.den) }

// inputArgs returns arguments for ffmpeg and ffprobe that make them read this file and no other.
func (m *media) inputArgs() []string {
	return []string{
		"-protocol_whitelist", "file,pipe", "-f", m.demuxer, "-codec_whitelist", codecs,
		"-max_pixels", strconv.Itoa(maxDecodedPixels), "-max_alloc", strconv.Itoa(maxAlloc), "-i", "file:" + m.path,
	}
}

// open checks a file. A file that is not accepted is a [*protocol.Error]. name is the subject of its sentence, such as
// "The video".
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
	format, refusal := find(containers, head), find(refused, head)
	var is string
	switch {
	case refusal >= 0:
		is = ": " + refused[refusal].demuxer
	case format >= 0 && containers[format].demuxer == "webp_pipe" && len(head) > 20 && string(head[12:16]) == "VP8X" && head[20]&animated != 0:
		is = ": animated WebP"
	}
	if is != "" || format < 0 {
		return nil, unusable("%s is of a type that is not accepted%s. Send MP4, MOV, WebM, MKV, AVI, JPEG, PNG or WebP, "+
			"and sound as WAV, MP3, M4A, OGG or FLAC.", name, is)
	}
	m := &media{path: path, demuxer: containers[format].demuxer, picture: containers[format].picture}
	if m.demuxer == "avi" { // ffmpeg decodes what is there
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if length := binary.LittleEndian.Uint32(head[4:]); length != unknownLength && int64(length) > info.Size() {
			return nil, damaged(name)
		}
	}
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

func damaged(name string) error {
	return unusable("%s cannot be read: the file is damaged, incomplete or of a kind that is not accepted.", name)
}

func tooLong(name string) error {
	return unusable("%s is too long: at most %d minutes are accepted.", name, int(maxDuration.Minutes()))
}

func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }
