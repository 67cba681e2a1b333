package talkinghead

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// madeFaces are what faces look like. Each is a photo or the presenter, filtered by ffmpeg.
var madeFaces = []struct{ name, filter string }{
	{name: "photo"},
	{name: "presenter"},
	{name: "open mouth", filter: "format=gbrp,geq=r='" + mouthHole + ",44,r(X,Y))':g='" + mouthHole + ",18,g(X,Y))':b='" + mouthHole + ",18,b(X,Y))'"},
	{name: "tilted", filter: "rotate=20*PI/180:c=white"},
	{name: "dark skin", filter: "colorchannelmixer=rr=0.50:gg=0.40:bb=0.36"},
	{name: "small", filter: "scale=112:-2,pad=480:360:180:120:gray"},
	{name: "at the border", filter: "crop=250:320:70:60"},
	{name: "low light", filter: "eq=gamma=0.6:contrast=0.6:brightness=-0.12,noise=alls=6:all_seed=1"},
}

// mouthHole begins an expression that is true between the lips of the photo, as if they were open.
const mouthHole = "if(lt(hypot((X-161)/27,(Y-290)/8),1)"

// pigoDirectory is where the module pigo is, which has a photo of a face. It is cached because go list is slow.
var pigoDirectory = sync.OnceValues(func() (string, error) {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/esimov/pigo").Output()
	return strings.TrimSpace(string(output)), err
})

// PigoModule returns the directory of the module pigo.
func PigoModule(t testing.TB) string {
	t.Helper()
	return harness.Try(pigoDirectory())(t)
}

// StoredFace returns the path of a picture or video that is stored as that of an avatar.
func StoredFace(t testing.TB, path string) string {
	t.Helper()
	source := harness.Try(open(t.Context(), path, "The face"))(t)
	stored := filepath.Join(t.TempDir(), footageName)
	if source.picture {
		stored = filepath.Join(t.TempDir(), pictureName)
	}
	harness.Check(t, source.copy(t.Context(), stored))
	return stored
}

// Hear returns how far a mouth opens to a sound, and the checks of the sound.
func Hear(t testing.TB, path string) (most float64, checks []protocol.Check) {
	t.Helper()
	var p performance
	harness.Check(t, p.hear(t.Context(), path, "The sound"))
	for _, s := range p.shapes {
		most = max(most, s.open)
	}
	return most, p.checks
}

// makeFace returns the path of the picture of a made face.
func makeFace(t testing.TB, i int) string {
	t.Helper()
	made := madeFaces[i]
	photo, path := filepath.Join(PigoModule(t), "testdata", "sample.jpg"), filepath.Join(t.TempDir(), "face.png")
	switch {
	case made.name == "presenter":
		harness.Check(t, os.WriteFile(path, presenter, 0o600))
	case made.filter == "":
		return photo
	default:
		harness.Check(t, ffmpeg(t.Context(), "-i", photo, "-vf", made.filter, "-frames:v", "1", path).run())
	}
	return path
}
