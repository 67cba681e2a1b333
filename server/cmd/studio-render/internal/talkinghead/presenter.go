package talkinghead

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
)

// presenter is a drawing of a person who does not exist. It has the noise of a camera, without which smooth areas would
// show bands after encoding.
//
//go:embed presenter.webp
var presenter []byte

// The position of the face in the picture.
//
//nolint:gochecknoglobals // a constant
var presenterFace = pose{X: 640, Y: 318, Scale: 126}

const presenterMouth = 1.10 // below the eyes, in eye distances

// presenterSource writes the picture of the presenter to dir. It returns the file and the position of the face.
func presenterSource(ctx context.Context, dir string) (*media, *track, error) {
	path := filepath.Join(dir, "presenter.webp")
	if err := os.WriteFile(path, presenter, 0o600); err != nil {
		return nil, nil, err
	}
	source, err := open(ctx, path, "The presenter")
	if err != nil {
		return nil, nil, err
	}
	f, err := source.firstFrame(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := func(x, y float64) point { return presenterFace.inFrame(point{x, y}) }
	marks := landmarks{
		LeftEye: at(-0.5, 0), RightEye: at(0.5, 0), Nose: at(0, 0.6),
		LeftCorner: at(-0.40, presenterMouth), RightCorner: at(0.40, presenterMouth),
		LipTop: at(0, presenterMouth-0.11), LipBottom: at(0, presenterMouth+0.16),
	}
	return source, &track{
		Width: source.width, Height: source.height, Picture: true,
		Places: []place{{Face: presenterFace, Mouth: point{0, presenterMouth}, Strength: 1}},
		Scenes: []scene{newScene(f, marks)},
	}, nil
}
