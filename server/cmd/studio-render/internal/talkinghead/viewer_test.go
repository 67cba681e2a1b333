package talkinghead_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/cmd/studio-render/internal/talkinghead"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// The size of the faces that a viewer sees, and how many columns at the left are erased from transparent ones.
const (
	seenWidth, seenHeight = 240, 300
	erased                = 40
)

// looks are pictures of a face, by the filters of ffmpeg that make them.
var looks = map[string]string{
	"whole": "null",
	// The columns at the left are magenta and transparent, which is white to a viewer.
	"erased": fmt.Sprintf("format=rgba,geq=r='if(lt(X,%[1]d),255,r(X,Y))':g='if(lt(X,%[1]d),0,g(X,Y))':b='if(lt(X,%[1]d),255,b(X,Y))':a='if(lt(X,%[1]d),0,255)'", erased),
	// Half of white is as bright in SDR as it is in HDR.
	"dark": "lutrgb=r=val*0.6:g=val*0.6:b=val*0.6",
}

// kinds are files that show a face in different ways, each made by arguments of ffmpeg.
var kinds = []struct {
	name, look, args string
	video, speaks    bool // whether it speaks, too
}{
	{name: "rgba.png", look: "erased", speaks: true},
	{name: "palette.png", look: "erased", args: "-vf split[a][b];[a]palettegen[p];[b][p]paletteuse -pix_fmt pal8"},
	{name: "vp9.webm", look: "erased", args: "-c:v libvpx-vp9 -pix_fmt yuva420p -cpu-used 8 -deadline realtime -crf 12 -b:v 0", video: true},
	{name: "prores.mov", look: "erased", args: "-c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le", video: true},
	{name: "rgb.mp4", look: "whole", args: "-c:v libx264rgb -preset ultrafast -crf 8", video: true},
	{name: "turned.jpg", look: "whole", args: "-vf transpose=2 -q:v 2"},
	{name: "turned.png", look: "whole", args: "-vf transpose=2"},
	{name: "turned.webp", look: "erased", args: "-vf transpose=2 -c:v libwebp -lossless 1 -pix_fmt bgra"},
	{name: "turned.mp4", look: "whole", args: "-vf transpose=2,format=yuv420p -c:v libx264 -preset ultrafast -crf 12 -color_trc bt709", video: true, speaks: true},
	{name: "hlg.mp4", look: "dark", args: hdr("arib-std-b67"), video: true, speaks: true},
	{name: "pq.mkv", look: "dark", args: hdr("smpte2084"), video: true},
	{name: "p3.mp4", look: "whole", args: "-vf " + wide + "t=iec61966-2-1:p=smpte432:m=709,format=yuv420p -crf 12 -color_primaries smpte432 -color_trc iec61966-2-1 -colorspace bt709", video: true},
}

// wide is a filter that converts colours to those of options that follow. The white of HDR is that of paper.
const wide = "format=gbrpf32le,zscale=tin=iec61966-2-1:pin=bt709:min=gbr:rin=full:r=tv:npl=203:agamma=0:"

func hdr(transfer string) string {
	return "-vf " + wide + "p=bt2020:m=bt2020nc:t=" + transfer + ",format=yuv420p10le -c:v libx265 -preset ultrafast -crf 12 -tag:v hvc1 " +
		"-x265-params log-level=none:colorprim=bt2020:colormatrix=bt2020nc:transfer=" + transfer
}

// turn makes players turn a picture or video to the right.
func turn(t *testing.T, path string) {
	t.Helper()
	if filepath.Ext(path) == ".mp4" {
		lying := path + ".lying.mp4"
		harness.Check(t, os.Rename(path, lying))
		ffmpeg(t, "-i", lying, "-c", "copy", "-metadata:s:v", "rotate=270", path)
		return
	}
	content := read(t, path)
	exif := "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	chunk := func(order binary.AppendByteOrder, name, data string) string { // of a RIFF file
		return name + string(order.AppendUint32(nil, uint32(len(data)))) + data
	}
	var turned string
	switch filepath.Ext(path) {
	case ".jpg":
		turned = string(content[:2]) + "\xff\xe1" + string(binary.BigEndian.AppendUint16(nil, uint16(8+len(exif)))) + "Exif\x00\x00" + exif + string(content[2:])
	case ".png":
		const header = 8 + 4 + 4 + 13 + 4 // the signature and the first chunk
		block := "eXIf" + exif
		block = string(binary.BigEndian.AppendUint32(nil, uint32(len(exif)))) + block + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(block))))
		turned = string(content[:header]) + block + string(content[header:])
	case ".webp":
		chunks := string(content[12:])
		if !strings.HasPrefix(chunks, "VP8X") {
			chunks = chunk(binary.LittleEndian, "VP8X", fmt.Sprintf("\x18\x00\x00\x00%c\x00\x00%c\x00\x00", seenHeight/256, 0)) + chunks
		}
		turned = chunk(binary.LittleEndian, "RIFF", "WEBP"+chunks+chunk(binary.LittleEndian, "EXIF", exif))
	}
	harness.Check(t, os.WriteFile(path, []byte(turned), 0o600))
}

// What is transparent, turned, or in other colours is shown as a viewer sees it, in everything that is made of it.
func TestMake_showsWhatAViewerSees(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it renders several videos")
	harness.Need(t, "ffmpeg", "ffprobe")
	dir, sound := t.TempDir(), newSound(t, "sine=frequency=500", "0.3")
	wanted := map[string]picture{}
	graph, args := fmt.Sprintf("[0]scale=%d:%d,split=%d[erased0][dark0][whole0]", seenWidth, seenHeight, len(looks)), []string{"-i", sample(t)}
	for look, filter := range looks {
		graph += fmt.Sprintf(";[%[1]s0]%[2]s,split[%[1]s][%[1]s1];color=white:s=%[3]dx%[4]d[%[1]s2];[%[1]s2][%[1]s1]overlay=format=gbrp[%[1]s-on-white]", look, filter, seenWidth, seenHeight)
	}
	args = append(args, "-filter_complex", graph)
	for look := range looks {
		for _, name := range []string{look, look + "-on-white"} {
			args = append(args, "-map", "["+name+"]", "-frames:v", "1", filepath.Join(dir, name+".png"))
		}
	}
	ffmpeg(t, args...)
	for look := range looks {
		wanted[look] = readPicture(t, filepath.Join(dir, look+"-on-white.png"))
	}
	args = nil // of one process for all kinds, because its start takes most of its CPU time
	numbers := map[string]string{}
	for look := range looks {
		numbers[look] = strconv.Itoa(len(numbers))
		args = append(args, "-loop", "1", "-r", "10", "-t", "1", "-i", filepath.Join(dir, look+".png"))
	}
	for _, kind := range kinds {
		args = append(append(args, "-map", numbers[kind.look]), strings.Fields(kind.args)...)
		if !kind.video {
			args = append(args, "-frames:v", "1")
		}
		path := filepath.Join(dir, kind.name)
		args = append(args, path)
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(kind.name, "turned") {
				turn(t, path)
			}
			check := func(of, path string, tolerance float64) {
				t.Helper()
				got := readPicture(t, path)
				for where, in := range map[string]area{
					"left": {4, 20, erased - 8, seenHeight - 20}, "forehead": {90, 60, 150, 90}, "right": {seenWidth - 30, 20, seenWidth - 8, 120},
				} {
					dx, dy := got.align(wanted[kind.look], in)
					if off := got.compare(wanted[kind.look], in, dx, dy); farthest(off) > tolerance {
						t.Errorf("%s, %s: the colours are off by %.1f", of, where, off)
					}
				}
			}
			check("stored face", talkinghead.StoredFace(t, path), 4)
			if !kind.speaks {
				return
			}
			odd := filepath.Join(t.TempDir(), `it's [odd], a:b;c\d`)
			harness.Check(t, os.Mkdir(odd, 0o700))
			made, err := talkinghead.Config{}.MakeLipsync(t.Context(), talkinghead.Lipsync{Video: path, Audio: sound}, odd)
			harness.Check(t, err)
			check("video", made.Video, 4)
			check("thumbnail", made.Thumbnail, 4)
			check("still", made.Previews.Still, 4)
			check("animation", made.Previews.Animation, 8)
			for _, s := range watch(t, made.Video).streams {
				if s.Kind == "video" && s.Transfer != "bt709" {
					t.Errorf("the video says that it is %q", s.Transfer)
				}
			}
			avatar := harness.Try(talkinghead.Config{}.MakeAvatar(t.Context(), path, t.TempDir()))(t)
			check("thumbnail of the avatar", avatar.Thumbnail, 4)
			check("still of the avatar", avatar.Previews.Still, 4)
			check("animation of the avatar", avatar.Previews.Animation, 8)
		})
	}
	ffmpeg(t, args...) // the kinds wait for the end of this test
}

// The sound that a player plays moves the mouth, is that of the video, and is checked.
func TestMake_soundsAsAListenerHears(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it decodes many recordings")
	harness.Need(t, "ffmpeg", "ffprobe")
	const voice, silence = "aevalsrc='0.2*sin(2*PI*720*t)+0.1*sin(2*PI*1200*t)':s=16000:d=0.5", "anullsrc=r=16000:cl=mono:d=0.5"
	face := filepath.Join(t.TempDir(), "face.png")
	ffmpeg(t, "-i", sample(t), "-vf", fmt.Sprintf("scale=%d:%d", seenWidth, seenHeight), face)
	dir, args := t.TempDir(), []string{"-f", "lavfi", "-i", voice, "-f", "lavfi", "-i", silence}
	for name, test := range map[string]struct {
		args   string
		silent bool
		check  string // the status of the check of what one speaker plays
	}{
		"inverted.wav": {args: "-map 0 -af pan=stereo|c0=c0|c1=-1*c0", check: "false"},
		"second.mkv":   {args: "-map 1 -map 0 -c:a flac -af pan=stereo|c1=c0 -disposition:a:0 0 -disposition:a:1 default", check: "true"},
		"first.mkv":    {args: "-map 1 -map 0 -c:a flac -disposition:a:0 default -disposition:a:1 0", silent: true},
		"silence.wav":  {args: "-map 1 -ac 2", silent: true},
		"surround.mkv": {args: "-map 0 -c:a flac -af pan=5.1|FC=c0", check: "true"},
	} {
		path := filepath.Join(dir, name)
		args = append(append(args, strings.Fields(test.args)...), path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, checks := talkinghead.Hear(t, path)
			if open < 0.3 != test.silent {
				t.Errorf("the mouth is open by %.3f", open)
			}
			var check string
			for _, c := range checks {
				check = fmt.Sprint(c.Status == protocol.Succeeded)
			}
			if check != test.check {
				t.Errorf("the check is %q, want %q", check, test.check)
			}
			if name != "second.mkv" {
				return
			}
			made := makeLipsync(t, talkinghead.Lipsync{Video: face, Audio: path})
			if open := slices.Max(watch(t, made.Video).dark(t)); open < 0.04 || len(made.Checks) != len(checks) {
				t.Errorf("the mouth is open by %.3f, and the checks are %+v", open, made.Checks)
			}
			loudest := int16(0)
			for sample := range slices.Chunk(ffmpeg(t, "-i", made.Voice, "-f", "s16le", "-ac", "2", "-"), 2) {
				loudest = max(loudest, int16(binary.LittleEndian.Uint16(sample)))
			}
			if loudest < 1000 {
				t.Errorf("the loudest sample is %d", loudest)
			}
		})
	}
	ffmpeg(t, args...) // the recordings wait for the end of this test
}

// Interlaced video has no combs, and keeps its rate.
func TestMakeLipsync_deinterlaces(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "few films are interlaced")
	harness.Need(t, "ffmpeg", "ffprobe")
	path := filepath.Join(t.TempDir(), "film.mp4")
	// A bar moves over the forehead by eight pixels in each field.
	filter := "color=black:s=24x40:r=50[bar];[in][bar]overlay=x=mod(400*t\\,W):shortest=1,tinterlace=interleave_top,format=yuv420p"
	ffmpeg(t, "-loop", "1", "-r", "50", "-i", sample(t), "-t", "1", "-vf", filter, "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "tff=1", path)
	combs := func(f *film) (sum float64) {
		for y := 8; y < 32; y++ {
			for x := range f.width {
				at := func(dy int) float64 { return float64(f.frames[7][(y+dy)*f.width+x]) }
				sum += max(math.Abs(at(0)-at(1))-math.Abs(at(0)-at(2)), 0)
			}
		}
		return sum
	}
	before, after := watch(t, path), watch(t, makeLipsync(t, talkinghead.Lipsync{Video: path, Audio: newSound(t, "sine", "0.4")}).Video)
	if combs(before) < 10_000 || combs(after) > combs(before)/10 || after.rate != 25 {
		t.Errorf("combs are %.0f, before %.0f, at %v frames per second", combs(after), combs(before), after.rate)
	}
}
