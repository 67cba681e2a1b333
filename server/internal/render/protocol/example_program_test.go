package protocol_test

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// examples/still.sh makes a video from a picture and a sound.
func TestStillProgram_makesLipsync(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts many processes")
	harness.Need(t, "ffmpeg", "ffprobe", "jq")
	dir := t.TempDir()
	picture, sound := filepath.Join(dir, "a b.png"), filepath.Join(dir, "a.wav")
	harness.Check(t, exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=size=161x121",
		"-f", "lavfi", "-i", "sine=duration=0.5", "-map", "0", "-frames:v", "1", picture, "-map", "1", sound).Run())
	for name, inputs := range map[string]map[string]string{
		"both":       {"video_url": picture, "audio_url": sound},
		"no picture": {"audio_url": sound},
		"text":       {"video_url": "/etc/hostname", "audio_url": sound},
	} {
		var input, output bytes.Buffer
		harness.Check(t, protocol.WriteRequest(&input, protocol.Request{
			Version: protocol.Version, Kind: protocol.Lipsync, ID: "1", Attempt: 1,
			Request: []byte(`{"title":"$(date) \"x\""}`), OutputDir: t.TempDir(), Inputs: inputs,
		}))
		command := exec.CommandContext(t.Context(), "./examples/still.sh")
		command.Stdin, command.Stdout = &input, &output
		harness.Check(t, command.Run())
		for line := range bytes.Lines(output.Bytes()) {
			validate(t, "message", line)
		}
		result, err := protocol.Read(&output, func(float64, protocol.Stage) {})
		if failure, failed := errors.AsType[*protocol.Error](err); failed == (name == "both") || failed && !failure.Permanent {
			t.Errorf("%s: error is %v", name, err)
		}
		if made := result.Video == "out.mp4" && result.Thumbnail == "still.jpg" && result.DurationSeconds > 0.4 && result.DurationSeconds < 0.7; made != (err == nil) {
			t.Errorf("%s: result is %+v", name, result)
		}
	}
}
