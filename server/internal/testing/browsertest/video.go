package browsertest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// NewVideo returns the path of a video of one second with sound, which is 640 pixels wide.
func NewVideo(t *testing.T) string {
	t.Helper()
	harness.Need(t, "ffmpeg")
	path := filepath.Join(t.TempDir(), `a "quoted" name.mp4`)
	output, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=640x360:rate=10", //nolint:gosec // a path of the test
		"-f", "lavfi", "-i", "sine=duration=1", "-pix_fmt", "yuv420p", "-movflags", "faststart", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}
