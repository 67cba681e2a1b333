package talkinghead

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The size of the presenter's picture, and the position of the mouth in it.
const (
	presenterWidth  = 1280
	presenterHeight = 720
	presenterMouth  = 1.10 // below the eyes, in eye distances
)

//nolint:gochecknoglobals // a constant
var presenterFace = pose{X: 640, Y: 318, Scale: 126}

// presenterMarks returns the landmarks of the presenter.
func presenterMarks() landmarks {
	at := func(x, y float64) point { return presenterFace.inFrame(point{x, y}) }
	return landmarks{
		LeftEye: at(-0.5, 0), RightEye: at(0.5, 0), Nose: at(0, 0.6),
		LeftCorner: at(-0.40, presenterMouth), RightCorner: at(0.40, presenterMouth),
		LipTop: at(0, presenterMouth-0.11), LipBottom: at(0, presenterMouth+0.16),
	}
}

// drawPresenter draws the presenter, a person who does not exist.
func drawPresenter() *image.RGBA {
	c := &canvas{image.NewRGBA(image.Rect(0, 0, presenterWidth, presenterHeight)), presenterFace}
	c.room()
	c.body()
	skin := c.skin()
	c.eyes(skin)
	c.nose(skin)
	c.lips(skin)
	c.hair(skin)
	c.grain()
	return c.image
}

// room draws the background.
func (c *canvas) room() {
	for y := range presenterHeight {
		for x := range presenterWidth {
			t := float64(y) / presenterHeight
			s := float64(x) / presenterWidth
			c.image.SetRGBA(x, y, color.RGBA{byte(58 + 34*s - 18*t), byte(86 + 30*s - 20*t), byte(104 + 24*s - 16*t), 255})
		}
	}
	c.paint(c.mask(ellipse(0.4, 0.2, 3.4, 2.6), 1.6), tint(168, 196, 202, 0.55))
	c.paint(c.mask(ellipse(-3.6, -1.2, 0.7, 0.7), 0.5), tint(236, 206, 160, 0.35))
	c.paint(c.mask(ellipse(3.9, 1.6, 0.9, 0.9), 0.6), tint(222, 178, 150, 0.22))
	c.paint(c.mask(ellipse(4.3, -1.7, 0.5, 0.5), 0.4), tint(240, 226, 190, 0.30))
}

// body draws the neck and the clothes.
func (c *canvas) body() {
	// Hair behind the head.
	back := mirrored(point{0, -1.66}, point{0.78, -1.70}, point{1.34, -1.10}, point{1.36, -0.20},
		point{1.38, 0.55}, point{1.30, 1.20}, point{1.02, 1.62}, point{0.6, 1.7}, point{0.3, 1.7}, point{0, 1.7})
	c.paint(c.mask(back, 0.03), rgb(46, 30, 25))

	jacket := mirrored(point{0, 1.9}, point{0.5, 2.0}, point{0.75, 2.28}, point{1.25, 2.44},
		point{1.95, 2.62}, point{2.45, 2.80}, point{2.62, 3.9}, point{2, 4}, point{1, 4}, point{0, 4})
	whole := c.mask(jacket, 0.015)
	c.paint(whole, rgb(38, 52, 82))
	c.paint(c.mask(ellipse(-1.9, 3.2, 0.5, 1.1), 0.5).within(whole), tint(70, 88, 124, 0.55))
	c.paint(c.mask(ellipse(2.1, 3.2, 0.5, 1.0), 0.5).within(whole), tint(18, 26, 48, 0.6))

	shirt := mirrored(point{0, 2.15}, point{0.3, 2.15}, point{0.56, 2.05}, point{0.66, 2.16},
		point{0.62, 2.55}, point{0.36, 3.1}, point{0.2, 3.6}, point{0.15, 3.6}, point{0.05, 3.6}, point{0, 3.6})
	c.paint(c.mask(shirt, 0.01), rgb(236, 238, 240))

	neck := mirrored(point{0, 1.1}, point{0.3, 1.1}, point{0.60, 1.2}, point{0.58, 1.5},
		point{0.56, 1.9}, point{0.58, 2.05}, point{0.66, 2.16}, point{0.4, 2.62}, point{0.2, 2.75}, point{0, 2.75})
	area := c.mask(neck, 0.01)
	c.paint(area, rgb(214, 160, 132))
	c.paint(c.mask(ellipse(0, 1.62, 0.9, 0.42), 0.22).within(area), tint(132, 78, 62, 0.75))
	c.paint(c.mask(ellipse(0.5, 2.1, 0.28, 0.6), 0.2).within(area), tint(150, 96, 78, 0.5))

	lapel := curve{{0.66, 2.12}, {0.9, 2.3}, {1.0, 2.5}, {1.02, 2.7}, {0.8, 2.95}, {0.4, 3.4}, {0.12, 3.9}, {0.2, 3.3}, {0.45, 2.7}, {0.66, 2.12}}
	for _, side := range []curve{lapel, lapel.flipped()} {
		c.paint(c.mask(side, 0.10), tint(12, 18, 34, 0.35))
		c.paint(c.mask(side, 0.012), rgb(46, 62, 96))
	}
}

// skin draws the face and returns its area.
func (c *canvas) skin() mask {
	outline := mirrored(point{0, -1.32}, point{0.62, -1.32}, point{1.01, -0.90}, point{1.03, -0.20},
		point{1.05, 0.42}, point{1.01, 0.84}, point{0.86, 1.18}, point{0.70, 1.54}, point{0.38, 1.84}, point{0, 1.84})
	face := c.mask(outline, 0.012)
	c.paint(face, rgb(233, 183, 154))
	shade := func(line curve, blur float64, tone color.NRGBA) {
		c.paint(c.mask(line, blur).within(face), tone)
	}
	shade(ellipse(-0.12, -0.65, 0.70, 0.42), 0.4, tint(252, 214, 188, 0.55)) // forehead
	shade(ellipse(1.06, 0.35, 0.30, 1.30), 0.35, tint(166, 104, 82, 0.60))   // the side away from the light
	shade(ellipse(-1.10, 0.45, 0.20, 1.20), 0.30, tint(178, 116, 92, 0.45))
	shade(ellipse(0, 1.98, 0.85, 0.26), 0.22, tint(150, 92, 72, 0.55)) // under the chin
	shade(ellipse(-0.60, 0.62, 0.26, 0.19), 0.26, tint(226, 118, 104, 0.42))
	shade(ellipse(0.60, 0.62, 0.26, 0.19), 0.26, tint(214, 106, 92, 0.42))
	shade(ellipse(-0.54, 0.42, 0.22, 0.10), 0.16, tint(255, 222, 198, 0.45)) // cheekbones
	shade(ellipse(0.50, 0.42, 0.20, 0.09), 0.16, tint(250, 212, 186, 0.35))
	shade(ellipse(-0.03, 1.56, 0.20, 0.12), 0.16, tint(250, 210, 184, 0.55)) // chin
	return face
}

// eyes draws the eyes and brows.
func (c *canvas) eyes(face mask) {
	for _, side := range []float64{-1, 1} {
		put := func(points ...point) curve {
			line := make(curve, len(points))
			for i, p := range points {
				line[i] = point{side * (0.5 + p.X), p.Y}
			}
			return line
		}
		// The points are those of the right eye, whose outer corner is on the right.
		socket := put(ellipse(0, -0.08, 0.30, 0.19)...)
		c.paint(c.mask(socket, 0.16).within(face), tint(170, 104, 84, 0.42))
		c.paint(c.mask(put(ellipse(-0.02, 0.17, 0.20, 0.05)...), 0.10).within(face), tint(188, 122, 102, 0.30))
		almond := put(point{-0.235, 0.035}, point{-0.15, -0.085}, point{0.10, -0.150}, point{0.235, -0.005},
			point{0.14, 0.085}, point{-0.10, 0.115}, point{-0.235, 0.035})
		eye := c.mask(almond, 0.006)
		c.paint(eye, rgb(240, 236, 232))
		iris := c.mask(put(ellipse(0, -0.012, 0.112, 0.112)...), 0.012).within(eye)
		c.paint(iris, rgb(58, 44, 34))
		c.paint(c.mask(put(ellipse(0, 0.012, 0.085, 0.080)...), 0.04).within(eye), tint(120, 86, 54, 0.85))
		c.paint(c.mask(put(ellipse(0, -0.012, 0.050, 0.050)...), 0.01).within(eye), rgb(14, 10, 10))
		c.paint(c.mask(put(ellipse(0, -0.12, 0.25, 0.07)...), 0.05).within(eye), tint(60, 40, 40, 0.55)) // the lid's shadow
		c.paint(c.mask(ellipse(side*0.5-0.035, -0.045, 0.022, 0.022), 0.006).within(eye), rgb(255, 255, 255))
		lash := put(point{-0.245, 0.045}, point{-0.16, -0.100}, point{0.10, -0.172}, point{0.270, -0.030},
			point{0.13, -0.125}, point{-0.13, -0.070}, point{-0.245, 0.045})
		c.paint(c.mask(lash, 0.008), rgb(36, 22, 20))
		lower := put(point{-0.20, 0.055}, point{-0.08, 0.112}, point{0.12, 0.095}, point{0.24, -0.005},
			point{0.13, 0.080}, point{-0.08, 0.098}, point{-0.20, 0.055})
		c.paint(c.mask(lower, 0.012), tint(110, 62, 52, 0.6))
		crease := put(point{-0.22, -0.055}, point{-0.12, -0.19}, point{0.12, -0.235}, point{0.27, -0.09},
			point{0.12, -0.205}, point{-0.12, -0.165}, point{-0.22, -0.055})
		c.paint(c.mask(crease, 0.016), tint(128, 74, 60, 0.65))
		brow := put(point{-0.26, -0.315}, point{-0.10, -0.425}, point{0.16, -0.455}, point{0.36, -0.295},
			point{0.16, -0.385}, point{-0.10, -0.345}, point{-0.26, -0.270})
		c.paint(c.mask(brow, 0.026), tint(52, 33, 27, 0.92))
	}
}

func (c *canvas) nose(face mask) {
	shade := func(line curve, blur float64, tone color.NRGBA) {
		c.paint(c.mask(line, blur).within(face), tone)
	}
	shade(ellipse(0.13, 0.30, 0.07, 0.36), 0.12, tint(182, 118, 94, 0.45))
	shade(ellipse(-0.15, -0.02, 0.05, 0.20), 0.10, tint(186, 122, 98, 0.40))
	shade(ellipse(0, 0.76, 0.20, 0.06), 0.09, tint(166, 98, 78, 0.60))
	shade(ellipse(-0.02, 0.20, 0.045, 0.36), 0.08, tint(255, 224, 202, 0.55))
	shade(ellipse(-0.02, 0.58, 0.085, 0.07), 0.08, tint(255, 226, 206, 0.70))
	for _, side := range []float64{-1, 1} {
		shade(ellipse(side*0.205, 0.62, 0.05, 0.085), 0.06, tint(176, 108, 88, 0.55))
		shade(ellipse(side*0.098, 0.705, 0.052, 0.022), 0.03, tint(84, 40, 34, 0.90))
	}
	shade(ellipse(0, 0.86, 0.045, 0.07), 0.07, tint(190, 124, 102, 0.40)) // below the nose
}

func (c *canvas) lips(face mask) {
	const y = presenterMouth
	c.paint(c.mask(ellipse(0, y+0.225, 0.24, 0.05), 0.10).within(face), tint(160, 96, 78, 0.55))
	upper := mirrored(point{0, y - 0.095}, point{0.03, y - 0.12}, point{0.09, y - 0.118}, point{0.14, y - 0.095},
		point{0.24, y - 0.055}, point{0.33, y - 0.02}, point{0.41, y - 0.006},
		point{0.30, y + 0.018}, point{0.12, y + 0.012}, point{0, y + 0.022})
	c.paint(c.mask(upper, 0.014), rgb(186, 92, 88))
	lower := mirrored(point{0, y + 0.012}, point{0.12, y + 0.004}, point{0.28, y + 0.012}, point{0.40, y - 0.004},
		point{0.32, y + 0.085}, point{0.18, y + 0.160}, point{0, y + 0.160})
	area := c.mask(lower, 0.016)
	c.paint(area, rgb(204, 110, 103))
	c.paint(c.mask(ellipse(-0.05, y+0.085, 0.15, 0.032), 0.06).within(area), tint(246, 176, 164, 0.65))
	line := mirrored(point{0, y + 0.006}, point{0.12, y - 0.004}, point{0.30, y + 0.004}, point{0.415, y - 0.012},
		point{0.30, y + 0.022}, point{0.12, y + 0.018}, point{0, y + 0.026})
	c.paint(c.mask(line, 0.010), tint(92, 34, 36, 0.92))
	for _, side := range []float64{-1, 1} {
		c.paint(c.mask(ellipse(side*0.42, y-0.004, 0.03, 0.025), 0.05).within(face), tint(150, 84, 68, 0.55))
	}
}

// hair draws the hair in front of the face.
func (c *canvas) hair(face mask) {
	c.paint(c.mask(ellipse(0, -1.0, 1.0, 0.30), 0.22).within(face), tint(120, 70, 54, 0.45)) // the shadow of the hair
	sweep := curve{
		{-0.30, -1.20},
		{0.10, -0.86},
		{0.62, -0.74},
		{0.92, -0.42},
		{1.00, -0.16},
		{0.97, 0.40},
		{1.02, 1.40},
		{1.16, 1.30},
		{1.40, 0.20},
		{1.27, -0.95},
		{1.06, -1.62},
		{0.40, -1.80},
		{-0.12, -1.70},
		{-0.70, -1.66},
		{-1.20, -1.30},
		{-1.28, -0.60},
		{-1.36, 0.20},
		{-1.18, 1.30},
		{-1.02, 1.40},
		{-0.97, 0.40},
		{-1.02, -0.20},
		{-0.94, -0.44},
		{-0.82, -0.82},
		{-0.58, -1.08},
		{-0.30, -1.20},
	}
	area := c.mask(sweep, 0.02)
	c.paint(area, rgb(58, 38, 31))
	strand := func(line curve, blur float64, tone color.NRGBA) {
		c.paint(c.mask(line, blur).within(area), tone)
	}
	strand(curve{{-0.20, -1.46}, {0.30, -1.40}, {0.85, -1.15}, {1.10, -0.55}, {0.80, -1.00}, {0.30, -1.22}, {-0.20, -1.46}}, 0.10, tint(128, 90, 70, 0.75))
	strand(curve{{-0.35, -1.42}, {-0.80, -1.30}, {-1.08, -0.90}, {-1.16, -0.40}, {-1.00, -0.90}, {-0.75, -1.18}, {-0.35, -1.42}}, 0.08, tint(118, 82, 64, 0.65))
	strand(curve{{-0.28, -1.22}, {0.12, -0.95}, {0.66, -0.82}, {0.98, -0.45}, {0.60, -0.92}, {0.15, -1.10}, {-0.28, -1.22}}, 0.07, tint(26, 15, 13, 0.6))
}

// grain adds camera noise, without which smooth areas would show bands after encoding.
func (c *canvas) grain() {
	chance := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < len(c.image.Pix); i += 4 {
		n := int(chance.NormFloat64() * 1.2)
		for k := range 3 {
			c.image.Pix[i+k] = byte(min(max(int(c.image.Pix[i+k])+n, 0), 255))
		}
	}
}

// presenterSource draws the presenter into a file in dir. It returns the file and the position of the face.
func presenterSource(ctx context.Context, dir string) (*media, *track, error) {
	path := filepath.Join(dir, "presenter.png")
	file, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	encoder := png.Encoder{CompressionLevel: png.BestSpeed} // the file is temporary
	if err := encoder.Encode(file, drawPresenter()); err != nil {
		return nil, nil, err
	}
	if err := file.Close(); err != nil {
		return nil, nil, err
	}
	source, err := open(ctx, path, "The presenter")
	if err != nil {
		return nil, nil, err
	}
	d, err := source.decode(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer d.stop()
	f, err := d.next()
	if err != nil {
		return nil, nil, err
	}
	marks := presenterMarks()
	face := poseOf(marks.LeftEye, marks.RightEye)
	return source, &track{
		Width: source.width, Height: source.height, Picture: true,
		Places: []place{{Face: face, Mouth: point{0, presenterMouth}, Strength: 1}},
		Scenes: []scene{newScene(f, marks)},
	}, nil
}

// presenterAvatar writes the avatar of the presenter to dir.
func (c Config) presenterAvatar(ctx context.Context, dir string) (Avatar, error) {
	work, err := os.MkdirTemp(dir, "work-")
	if err != nil {
		return Avatar{}, err
	}
	defer os.RemoveAll(work)
	source, t, err := presenterSource(ctx, work)
	if err != nil {
		return Avatar{}, err
	}
	checks := []Check{{"readable", true, "The base_video_url is missing, so the presenter is used."}}
	return c.writeAvatar(ctx, source, t, Avatar{Checks: checks}, dir)
}
