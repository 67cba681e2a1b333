package talkinghead

import (
	"fmt"
	"slices"
	"strings"
)

// seen is the list of ffmpeg filters that make the decoded pictures of a file what a viewer sees.
type seen struct {
	decoder string   // that decodes all of it; "" for the usual one
	first   []string // before they are scaled
	last    string   // after they are scaled, "" for nothing
	rgb     bool     // whether the result is RGB
}

// opaque composites transparent pictures on white, which is where pictures on the web are seen most: black is added to
// the negative.
const opaque = "scale=flags=bicubic+" + exactColors + ",format=gbrap,negate,premultiply=inplace=1,format=gbrp,negate"

// turns are the filters that turn pictures upright that ffmpeg does not turn, by the orientation of EXIF, from 1.
//
//nolint:gochecknoglobals // a table
var turns = []string{"", "", "hflip", "hflip,vflip", "vflip", "transpose=0", "transpose=1", "transpose=3", "transpose=2"}

// filters returns the filters for a stream, and the tags of the result.
func (s *stream) filters(picture bool, orientation int) (seen, colorTags) {
	shown, tags := seen{rgb: picture || s.Space == "gbr"}, colorTags{s.Space, s.Transfer, s.Primaries}
	if slices.Contains([]string{"h264", "mpeg2video", "mpeg4", "prores", "mjpeg"}, s.Codec) && !picture {
		// What files say of their fields is often wrong, so each frame says whether it is interlaced.
		shown.first = append(shown.first, "bwdif=mode=send_frame:deint=interlaced")
	}
	if s.Tags.Alpha == "1" { // what the usual decoders drop
		shown.decoder = map[string]string{"vp8": "libvpx", "vp9": "libvpx-vp9"}[s.Codec]
	}
	if shown.decoder != "" || s.transparent() {
		shown.first, shown.rgb = append(shown.first, opaque), true
	}
	if turn := turns[orientation]; turn != "" {
		shown.first = append(shown.first, turn)
	}
	if convert := tags.toSDR(); convert != "" && !picture {
		if tags.matrix() == "bt601" { // it is unknown
			tags.space = "bt2020nc"
		}
		shown.last = ":in_color_matrix=" + tags.matrix() + ",format=gbrp12," + convert + ",format=gbrp12,scale=flags=bicubic+" + exactColors
		shown.rgb = true
	}
	if shown.rgb {
		tags = rgbTags
	}
	return shown, tags
}

// transparent reports whether the pixels of a stream may be transparent.
func (s *stream) transparent() bool {
	return s.Format == "pal8" || slices.ContainsFunc([]string{"yuva", "gbrap", "ya8", "ya16", "rgba", "bgra", "argb", "abgr"}, func(format string) bool {
		return strings.HasPrefix(s.Format, format)
	})
}

// pictureArgs returns arguments for ffmpeg that read the pictures of m.
func (m *media) pictureArgs(args ...string) []string {
	var before []string
	limit := []string{"-frames:v", "1"} // a picture may be followed by others
	if !m.picture {
		seconds := maxDuration.Seconds() + 1
		if m.limit > 0 {
			seconds = m.limit
		}
		limit = []string{"-t", fmt.Sprint(seconds)}
	}
	if m.seen.decoder != "" {
		before = append(before, "-c:v", m.seen.decoder)
	}
	return slices.Concat(before, m.inputArgs(), []string{"-map", fmt.Sprintf("0:%d", m.video.Index)}, limit, args)
}

// filter returns the ffmpeg filter that converts frames to what a viewer sees, in the size, rate and colours of m.
func (m *media) filter() string {
	filter := m.scale() + ":out_range=tv"
	if m.seen.rgb {
		filter += ":out_color_matrix=bt709"
	}
	return filter + ",format=yuv420p,setsar=1"
}

// exactColors are flags of the filter scale, which otherwise rounds most values down when it converts colours.
const exactColors = "accurate_rnd+full_chroma_int"

// scale returns the ffmpeg filter that converts frames to what a viewer sees, in the size and rate of m. Options of the
// filter scale may be added.
func (m *media) scale() string {
	filters := slices.Clone(m.seen.first)
	if !m.picture {
		filters = append(filters, "fps="+m.rate.String()+":start_time=0")
	}
	scale := fmt.Sprintf("scale=%d:%d:flags=bicubic", m.width, m.height)
	if m.seen.rgb { // the colours of others are not converted
		scale += "+" + exactColors
	}
	return strings.Join(append(filters, scale+m.seen.last), ",")
}

// colorTags describe how a video encodes colours, by the names of ffmpeg.
type colorTags struct{ space, transfer, primaries string }

// rgbTags are the tags of frames that were converted from RGB.
//
//nolint:gochecknoglobals // a constant
var rgbTags = colorTags{"bt709", "bt709", "bt709"}

// toSDR returns the filters that convert RGB of the tags to BT.709, or "" if the colours are close enough to it. In
// HDR, white is that of paper, 203 cd/m² (BT.2408). What is darker than half of white stays, and what is brighter, up
// to 1000 cd/m², has the less contrast the brighter it is.
func (t colorTags) toSDR() string {
	const scale, srgb = "zscale=m=gbr:min=gbr:r=full:rin=full:npl=203:agamma=0:", "iec61966-2-1"
	primaries, transfer, dim := "bt709", srgb, ""
	if t.primaries == "bt2020" || t.primaries == "smpte432" { // smpte432 is Display P3
		primaries = t.primaries
	}
	if t.transfer == "smpte2084" || t.transfer == "arib-std-b67" {
		transfer, dim = t.transfer, ",tonemap=mobius:param=0.5:peak=4.926:desat=0"
	}
	if primaries == "bt709" && dim == "" {
		return ""
	}
	return scale + "t=linear:tin=" + transfer + ":p=" + primaries + ":pin=" + primaries + ",format=gbrpf32" + dim + "," +
		scale + "t=" + srgb + ":tin=linear:p=bt709:pin=" + primaries
}

func (t colorTags) args() (args []string) {
	for _, tag := range [][2]string{{"-colorspace", t.space}, {"-color_trc", t.transfer}, {"-color_primaries", t.primaries}} {
		if tag[1] != "" && tag[1] != "unknown" && tag[1] != "reserved" {
			args = append(args, tag[0], tag[1])
		}
	}
	return append(args, "-color_range", "tv")
}

// matrix returns the name of the colour matrix for the filter scale of ffmpeg.
func (t colorTags) matrix() string {
	switch t.space {
	case "bt709", "smpte240m", "fcc":
		return t.space
	case "bt2020nc", "bt2020c":
		return "bt2020"
	}
	return "bt601" // also if it is unknown, as in ffmpeg
}

// thumbnailFilter returns the filter that makes a JPEG picture, whose colours have the matrix of BT.601, of a frame of
// m.
func (m *media) thumbnailFilter() string {
	return "scale='min(640,iw)':-2:in_color_matrix=" + m.tags.matrix() + ":out_color_matrix=bt601:out_range=pc:flags=bicubic+" + exactColors + ",format=yuvj420p"
}
