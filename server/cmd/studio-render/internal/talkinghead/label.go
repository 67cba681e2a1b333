package talkinghead

import (
	"image"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// A label is white text on a dark, translucent ground in the corner of each frame. A nil label draws
// nothing.
type label struct {
	text      *image.Alpha
	left, top int
}

// labelGround is the opacity of the ground of a label.
const labelGround = 0.45

func newLabel(text string, width, height int) *label {
	if text == "" {
		return nil
	}
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic(err) // the font is embedded
	}
	for size := float64(max(height/28, 10)); ; size *= 0.9 {
		face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
		if err != nil {
			panic(err) // fails only for sizes that are not numbers
		}
		long, margin := font.MeasureString(face, text).Ceil(), int(size/2)
		if long+4*margin > width && size > 6 {
			continue
		}
		box := image.NewAlpha(image.Rect(0, 0, min((long+2*margin)/2*2, width), min(int(size*1.6)/2*2, height)))
		drawer := font.Drawer{Dst: box, Src: image.Opaque, Face: face, Dot: fixed.P(margin, int(size*1.15))}
		drawer.DrawString(text)
		return &label{box, min(margin, width-box.Rect.Dx()) / 2 * 2, max(height-box.Rect.Dy()-margin, 0) / 2 * 2}
	}
}

func (l *label) draw(f *frame) {
	if l == nil {
		return
	}
	for _, p := range f.planes() {
		step, dark, light := int(p.step()), 16.0, 235.0
		if p.half {
			dark, light = 128, 128
		}
		for row := range l.text.Rect.Dy() / step {
			for column := range l.text.Rect.Dx() / step {
				at := &p.pix[(l.top/step+row)*p.width+l.left/step+column]
				white := float64(l.text.AlphaAt(column*step, row*step).A) / 255
				value := float64(*at)
				value += (dark - value) * labelGround
				*at = toByte(value + (light-value)*white)
			}
		}
	}
}
