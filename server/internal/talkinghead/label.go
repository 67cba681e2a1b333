package talkinghead

import (
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// A label is white text on a dark, translucent ground in the corner of each frame. A nil label draws
// nothing.
type label struct {
	text      *image.Alpha
	ground    float64
	left, top int
}

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
		box := image.NewAlpha(image.Rect(0, 0, (long+2*margin)/2*2, int(size*1.6)/2*2))
		drawer := font.Drawer{Dst: box, Src: image.NewUniform(color.Alpha{255}), Face: face, Dot: fixed.P(margin, int(size*1.15))}
		drawer.DrawString(text)
		fit := image.NewAlpha(image.Rect(0, 0, min(box.Rect.Dx(), width), min(box.Rect.Dy(), height)))
		draw.Draw(fit, fit.Rect, box, image.Point{}, draw.Src)
		return &label{fit, 0.45, min(margin, width-fit.Rect.Dx()) / 2 * 2, max(height-fit.Rect.Dy()-margin, 0) / 2 * 2}
	}
}

func (l *label) draw(f *frame) {
	if l == nil {
		return
	}
	for i, p := range f.planes() {
		step := int(p.step())
		for row := range l.text.Rect.Dy() / step {
			for column := range l.text.Rect.Dx() / step {
				at := &p.pix[(l.top/step+row)*p.width+l.left/step+column]
				white := float64(l.text.AlphaAt(column*step, row*step).A) / 255
				dark, light := 16.0, 235.0
				if i > 0 {
					dark, light = 128, 128
				}
				value := float64(*at)
				value += (dark - value) * l.ground
				*at = toByte(value + (light-value)*white)
			}
		}
	}
}
