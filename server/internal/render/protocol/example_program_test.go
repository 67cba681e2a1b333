package protocol_test

import (
	"bytes"
	"encoding/json"
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
	harness.Need(t, "ffmpeg", "ffprobe", "jq")
	dir := t.TempDir()
	picture, sound := filepath.Join(dir, "a b.png"), filepath.Join(dir, "a.wav")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc=size=161x121", "-frames:v", "1", picture)
	ffmpeg(t, "-f", "lavfi", "-i", "sine=duration=0.5", sound)

	result, err := runExample(t, protocol.Request{
		Version: protocol.Version, Kind: protocol.Lipsync, ID: "1", Attempt: 1,
		Request: []byte(`{"title":"$(date) \"x\""}`), OutputDir: t.TempDir(),
		Inputs: map[string]string{"video_url": picture, "audio_url": sound},
	})
	harness.Check(t, err)
	if result.Video != "out.mp4" || result.Thumbnail != "still.jpg" || result.DurationSeconds < 0.4 || result.DurationSeconds > 0.7 {
		t.Errorf("result is %+v", result)
	}

	for name, inputs := range map[string]map[string]string{
		"no picture": {"audio_url": sound},
		"text":       {"video_url": "/etc/hostname", "audio_url": sound},
	} {
		_, err := runExample(t, protocol.Request{
			Version: protocol.Version, Kind: protocol.Lipsync, ID: "1", Attempt: 1,
			Request: []byte(`{}`), OutputDir: t.TempDir(), Inputs: inputs,
		})
		if failure, ok := errors.AsType[*protocol.Error](err); !ok || !failure.Permanent {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func runExample(t *testing.T, request protocol.Request) (protocol.Result, error) {
	t.Helper()
	var input, output bytes.Buffer
	harness.Check(t, protocol.WriteRequest(&input, request))
	command := exec.CommandContext(t.Context(), "./examples/still.sh")
	command.Stdin, command.Stdout = &input, &output
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, output.Bytes())
	}
	for line := range bytes.Lines(output.Bytes()) {
		if !json.Valid(line) {
			t.Errorf("no JSON: %s", line)
		}
		validate(t, "message", line)
	}
	return protocol.Read(&output, func(float64, protocol.Stage) {})
}

func ffmpeg(t *testing.T, args ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-v", "error", "-nostdin"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, output)
	}
}
