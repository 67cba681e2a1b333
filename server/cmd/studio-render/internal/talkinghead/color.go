package talkinghead

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// An rgb is a colour: red, green and blue, from 0 to 1.
type rgb [3]float64

// A colorTable converts colours to those of BT.709.
type colorTable func(rgb) rgb

// table returns the conversion of colours that the tags describe, or nil if they are close enough to those of BT.709.
func (t colorTags) table() colorTable {
	var gamut [3]rgb // by which linear components are multiplied
	switch t.primaries {
	case "bt2020":
		gamut = [3]rgb{{1.6605, -0.5876, -0.0728}, {-0.1246, 1.1329, -0.0083}, {-0.0182, -0.1006, 1.1187}}
	case "smpte432": // Display P3
		gamut = [3]rgb{{1.2249, -0.2247, 0}, {-0.0420, 1.0419, 0}, {-0.0197, -0.0786, 1.0979}}
	default:
		gamut = [3]rgb{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	}
	var linear colorTable // of which 1 is white
	switch {
	case t.transfer == "smpte2084":
		linear = func(c rgb) rgb { return dimmed(rgb{fromPQ(c[0]), fromPQ(c[1]), fromPQ(c[2])}) }
	case t.transfer == "arib-std-b67":
		linear = func(c rgb) rgb { return dimmed(fromHLG(c)) }
	case gamut[0][0] == 1:
		return nil
	default:
		linear = func(c rgb) rgb { return rgb{fromSRGB(c[0]), fromSRGB(c[1]), fromSRGB(c[2])} }
	}
	return func(c rgb) (shown rgb) {
		c = linear(c)
		for i, row := range gamut {
			shown[i] = toSRGB(min(max(row[0]*c[0]+row[1]*c[1]+row[2]*c[2], 0), 1))
		}
		return shown
	}
}

// The luminance of HDR, in cd/m².
const (
	hdrWhite = 203  // of paper (BT.2408)
	hdrPeak  = 1000 // above, everything is white
)

// dimmed maps luminance to the range of SDR: what is darker than half of white stays, and what is brighter has the less
// contrast the brighter it is (the curve of BT.2390). The hue stays.
func dimmed(c rgb) rgb {
	bright := min(max(c[0], c[1], c[2]), hdrPeak)
	if bright <= 0 {
		return rgb{}
	}
	peak := toPQ(hdrPeak)
	white, level := toPQ(hdrWhite)/peak, toPQ(bright)/peak
	if knee := 1.5*white - 0.5; level > knee {
		t := (level - knee) / (1 - knee)
		level = (2*t*t*t-3*t*t+1)*knee + (t*t*t-2*t*t+t)*(1-knee) + (3*t*t-2*t*t*t)*white
	}
	scale := fromPQ(level*peak) / hdrWhite / max(c[0], c[1], c[2])
	return rgb{c[0] * scale, c[1] * scale, c[2] * scale}
}

// The constants of PQ (BT.2100).
const (
	pqM1, pqM2       = 2610.0 / 16384, 2523.0 / 4096 * 128
	pqC1, pqC2, pqC3 = 3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32
)

func fromPQ(v float64) float64 {
	p := math.Pow(v, 1/pqM2)
	return 10000 * math.Pow(max(p-pqC1, 0)/(pqC2-pqC3*p), 1/pqM1)
}

func toPQ(luminance float64) float64 {
	p := math.Pow(luminance/10000, pqM1)
	return math.Pow((pqC1+pqC2*p)/(1+pqC3*p), pqM2)
}

// fromHLG returns the luminance on a display with hdrPeak (BT.2100).
func fromHLG(v rgb) (c rgb) {
	const a = 0.17883277
	for i, v := range v {
		if c[i] = v * v / 3; v > 0.5 {
			c[i] = (math.Exp((v-0.5+a*math.Log(4*a))/a) + 1 - 4*a) / 12
		}
	}
	scale := hdrPeak * math.Pow(0.2627*c[0]+0.6780*c[1]+0.0593*c[2], 0.2)
	return rgb{c[0] * scale, c[1] * scale, c[2] * scale}
}

func fromSRGB(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func toSRGB(v float64) float64 {
	if v <= 0.0031308 {
		return v * 12.92
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// tableSize is the number of values of each component in the file of a table. Values between them are interpolated.
const tableSize = 33

// writeTable writes a table to a file in dir, from which ffmpeg reads it, and returns its path.
func writeTable(table colorTable, dir string) (string, error) {
	var file bytes.Buffer
	fmt.Fprintf(&file, "LUT_3D_SIZE %d\n", tableSize)
	const step = 1.0 / (tableSize - 1)
	for b := range tableSize {
		for g := range tableSize {
			for r := range tableSize {
				c := table(rgb{float64(r) * step, float64(g) * step, float64(b) * step})
				fmt.Fprintf(&file, "%.5f %.5f %.5f\n", c[0], c[1], c[2])
			}
		}
	}
	path := filepath.Join(dir, "colors.cube")
	return path, os.WriteFile(path, file.Bytes(), 0o600)
}
