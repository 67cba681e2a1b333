package browsertest

import (
	"bytes"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// maxPicture is the most bytes of a picture in a README.
const maxPicture = 200_000

//nolint:gochecknoglobals // a flag
var readme = flag.String("readme", "", "write the pictures of [Tab.Picture] to this directory")

// Picture writes a screenshot of the page for a README, in a window of 1200 × 800 pixels, if the test has the flag
// -readme.
func (tab *Tab) Picture(name string) {
	tab.t.Helper()
	if *readme == "" {
		return
	}
	tab.Prefer("light")
	tab.Do(chromedp.EmulateViewport(1200, 800))
	Read(tab, chromedp.Evaluate[int64](layoutWidth, chromedp.EvalAwaitPromise))
	picture, err := compress(Read(tab, chromedp.CaptureScreenshot()))
	harness.Check(tab.t, err)
	if len(picture) > maxPicture {
		tab.t.Errorf("%s has %d bytes, want at most %d", name, len(picture), maxPicture)
	}
	harness.Check(tab.t, os.WriteFile(filepath.Join(*readme, name), picture, 0o644)) //nolint:gosec // it is published
}

// compress sets the two lowest bits of each color of a PNG, which are noise in frames of a video, and encodes it
// with the best compression.
func compress(picture []byte) ([]byte, error) {
	const noiseBits = 3
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	drawn := image.NewRGBA(decoded.Bounds())
	draw.Draw(drawn, drawn.Rect, decoded, drawn.Rect.Min, draw.Src)
	for i := range drawn.Pix {
		drawn.Pix[i] |= noiseBits
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&small, drawn)
	return small.Bytes(), err
}
