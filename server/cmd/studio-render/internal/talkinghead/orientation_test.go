package talkinghead

import (
	"bytes"
	"encoding/binary"
	"image"
	imagecolor "image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// A picture is turned by its orientation, as EXIF defines it: where the first row and the first column are.
func TestOpen_turnsPictures(t *testing.T) {
	t.Parallel()
	harness.Need(t, "ffmpeg", "ffprobe")
	const long, short = 96, 64
	last := func(size, i int) int { return size - 1 - i }
	for orientation, stored := range []func(x, y int) (column, row int){ // of the upright picture
		1: func(x, y int) (int, int) { return x, y },
		2: func(x, y int) (int, int) { return last(long, x), y },
		3: func(x, y int) (int, int) { return last(long, x), last(short, y) },
		4: func(x, y int) (int, int) { return x, last(short, y) },
		5: func(x, y int) (int, int) { return y, x },
		6: func(x, y int) (int, int) { return y, last(long, x) },
		7: func(x, y int) (int, int) { return last(short, y), last(long, x) },
		8: func(x, y int) (int, int) { return last(short, y), x },
	} {
		if stored == nil || testing.Short() && orientation != 5 && orientation != 7 {
			continue
		}
		size := image.Rect(0, 0, long, short)
		if orientation > 4 {
			size = image.Rect(0, 0, short, long)
		}
		picture := image.NewGray(size)
		for y := range short {
			for x := range long {
				column, row := stored(x, y)
				picture.SetGray(column, row, imagecolor.Gray{Y: byte(2*x + y)})
			}
		}
		var file bytes.Buffer
		harness.Check(t, jpeg.Encode(&file, picture, &jpeg.Options{Quality: 100}))
		exif := "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(rune(orientation)) + "\x00\x00\x00"
		content := file.String()
		content = content[:2] + "\xff\xe1" + string(binary.BigEndian.AppendUint16(nil, uint16(8+len(exif)))) + "Exif\x00\x00" + exif + content[2:]
		path := filepath.Join(t.TempDir(), "picture.jpg")
		harness.Check(t, os.WriteFile(path, []byte(content), 0o600))
		m := harness.Try(open(t.Context(), path, "The picture"))(t)
		f := harness.Try(m.firstFrame(t.Context()))(t)
		for _, at := range []image.Point{{0, 0}, {long - 1, 0}, {0, short - 1}, {long / 2, short / 3}} {
			want := 16 + (2*at.X+at.Y)*219/255
			if got := int(f.pix[min(at.Y*f.width+at.X, len(f.pix)-1)]); f.width != long || got < want-2 || got > want+2 {
				t.Errorf("orientation %d: %v of %d × %d is %d, want %d", orientation, at, f.width, f.height, got, want)
			}
		}
	}
}
