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
)

// maxPicture is how many bytes a picture of a README may have.
const maxPicture = 200_000

//nolint:gochecknoglobals // a flag
var readme = flag.String("readme", "", "write the pictures of [Tab.Picture] to this directory")

// Picture writes a picture of the page, in a window as people have it, for a README.
func (tab *Tab) Picture(name string) {
	tab.t.Helper()
	if *readme == "" {
		return
	}
	tab.Prefer("light")
	tab.Do(chromedp.EmulateViewport(1200, 800))
	Read(tab, chromedp.Evaluate[int64](laidOut, chromedp.EvalAwaitPromise))
	picture, err := smaller(Read(tab, chromedp.CaptureScreenshot()))
	if err != nil {
		tab.t.Fatal(err)
	}
	if len(picture) > maxPicture {
		tab.t.Errorf("%s has %d bytes", name, len(picture))
	}
	if err := os.WriteFile(filepath.Join(*readme, name), picture, 0o644); err != nil { //nolint:gosec // everybody may see it
		tab.t.Fatal(err)
	}
}

// smaller returns a PNG without the two lowest bits of each colour, which are noise where there is a video.
func smaller(picture []byte) ([]byte, error) {
	const noise = 3
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	drawn := image.NewRGBA(decoded.Bounds())
	draw.Draw(drawn, drawn.Rect, decoded, drawn.Rect.Min, draw.Src)
	for i := range drawn.Pix {
		drawn.Pix[i] |= noise
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&small, drawn)
	return small.Bytes(), err
}
