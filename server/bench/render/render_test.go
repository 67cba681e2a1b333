// Package render compares studio-render with a plain transcode of the same clip by ffmpeg, and the speed of serving
// media files with http.FileServer. It measures wall time, CPU time and peak memory of all processes. Memory is read
// from /proc; without it, it is 0.
package render_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

var check = harness.Check

// setup is the directory with the clips, and the program.
type setup struct {
	t            *testing.T
	dir, program string
}

func (s setup) path(name string) string { return filepath.Join(s.dir, name) }

func TestRender(t *testing.T) {
	harness.Need(t, "ffmpeg")
	rounds, files, clip, long := 1, 1, time.Second, time.Second
	if *measure.Full {
		rounds, files, clip, long = 5, 200, 10*time.Second, 120*time.Second
	}
	program, err := gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/server/cmd/studio-render")
	check(t, err)
	s := setup{t, t.TempDir(), program}
	s.makeClip(clip)
	s.repeat("clip", "long", long)
	var plain, lips, plainStill, still usages
	for range rounds {
		plain = append(plain, s.transcode("clip.mp4", "clip.wav"))
		lips = append(lips, s.lipsync("clip.mp4", "clip.wav"))
		still = append(still, s.lipsync("", "clip.wav"))
		plainStill = append(plainStill, s.transcode(spoken, "clip.wav"))
	}
	plainLong := usages{s.transcode("long.mp4", "long.wav")}
	longest := usages{s.lipsync("long.mp4", "long.wav")}
	measure.Report(t, "../RENDER.md", fmt.Sprintf(`# Rendering

A lip-sync by studio-render and its floor, a plain transcode by ffmpeg with the same encoder settings, are measured
alternately, with a clip of %v, 1280 × 720 at 25 frames per second, and sound of 48 kHz. The floor of a picture is the
transcode of its lip-sync. CPU time and memory include all processes, such as ffmpeg. Memory is the peak of their total
proportional set size (PSS). Times and ratios are medians of %d rounds, and memory is the maximum. The ratios are those of
one round. Reproduce with `+"`make bench-render`"+`. The figures depend on the machine and its other load, wall times most.

%s.

| | Target | CPU time | Wall time | Real time | Memory |
|---|---|---|---|---|---|
| plain transcode of the clip | | %s |
| lip-sync of the clip | ≤ 1.4 × the CPU and wall time of the transcode, < 300 MB | %s |
| plain transcode of the lip-sync of the picture | | %s |
| lip-sync of a picture (the built-in presenter) | ≥ 4 × real time, < 300 MB | %s |
| plain transcode of a clip of %v, which repeats the other, in one round | | %s |
| lip-sync of that clip | as of the other clip | %s |

Each server sends each file over loopback, alternately: the large file %d times, the small file %d times. Rates are the
maximum. The target of the ratio is ≥ 0.9.

| GET of a file | /media | http.FileServer | Ratio |
|---|---|---|---|
%s%s`, clip, rounds, measure.Machine(),
		plain.row(clip, nil), lips.row(clip, plain), plainStill.row(clip, nil), still.row(clip, plainStill), long, plainLong.row(long, nil), longest.row(long, plainLong),
		files, 10*files,
		s.serve("32 MiB", 32<<20, files), s.serve("64 KiB", 64<<10, 10*files)))
}

// makeClip makes a clip from a picture of a face that the module pigo contains. After 10 s, the movement repeats.
func (s setup) makeClip(length time.Duration) {
	s.t.Helper()
	root, err := gobuild.Root(s.t.Context())
	check(s.t, err)
	find := exec.CommandContext(s.t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/esimov/pigo")
	find.Dir = root
	module, err := find.Output()
	check(s.t, err)
	face := filepath.Join(strings.TrimSpace(string(module)), "testdata", "sample.jpg")
	// The head moves, and the picture has the noise of a camera.
	filter := "scale=-2:800,pad=1480:840:(ow-iw)/2:20:color=0x5a6a72,rotate=0.04*sin(2*PI*t/2.5):c=0x5a6a72,noise=alls=5:allf=t," +
		"crop=1280:720:100+60*sin(2*PI*t/5):60+25*sin(2*PI*t/2.5),format=yuv420p"
	s.ffmpeg("-loop", "1", "-r", "25", "-i", face, "-t", fmt.Sprint(length.Seconds()), "-vf", filter,
		"-c:v", "libx264", "-preset", "veryfast", "-crf", "18", s.path("clip.mp4"))
	// A hum with four syllables per second.
	voice := "0.2*(0.5-0.5*cos(2*PI*4*t))*(sin(2*PI*120*t)+sin(2*PI*720*t)+0.5*sin(2*PI*1200*t))"
	s.ffmpeg("-f", "lavfi", "-i", "aevalsrc="+strings.ReplaceAll(voice, ",", "\\,")+":s=48000", "-t", fmt.Sprint(length.Seconds()), s.path("clip.wav"))
}

// repeat makes a clip of the given length that repeats another.
func (s setup) repeat(name, to string, length time.Duration) {
	s.t.Helper()
	for _, extension := range []string{".mp4", ".wav"} {
		s.ffmpeg("-stream_loop", "-1", "-i", s.path(name+extension), "-t", fmt.Sprint(length.Seconds()), "-c", "copy", s.path(to+extension))
	}
}

// ffmpeg runs ffmpeg and returns its usage.
func (s setup) ffmpeg(args ...string) usage {
	s.t.Helper()
	return s.run(exec.CommandContext(s.t.Context(), "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...))
}

// transcode encodes a clip with the settings of studio-render, without changing its pictures.
func (s setup) transcode(video, sound string) usage {
	s.t.Helper()
	return s.ffmpeg("-i", s.path(video), "-i", s.path(sound), "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-preset", "veryfast",
		"-crf", "20", "-profile:v", "high", "-pix_fmt", "yuv420p", "-threads", "2", "-x264-params", "sync-lookahead=0", "-c:a", "aac", "-b:a", "160k",
		"-movflags", "+faststart", s.path("plain.mp4"))
}

// spoken is the path of the last lip-sync, in the directory of a setup.
const spoken = "spoken/out.mp4"

// lipsync runs studio-render. Without a video, it renders the presenter.
func (s setup) lipsync(video, sound string) usage {
	s.t.Helper()
	inputs := map[string]string{"audio_url": s.path(sound)}
	if video != "" {
		inputs["video_url"] = s.path(video)
	}
	output := s.path(filepath.Dir(spoken))
	check(s.t, os.RemoveAll(output))
	check(s.t, os.Mkdir(output, 0o700))
	var request, response bytes.Buffer
	check(s.t, protocol.WriteRequest(&request, protocol.Request{
		Version: protocol.Version, Kind: protocol.Lipsync, ID: "1", Attempt: 1, Request: []byte(`{}`), Inputs: inputs, OutputDir: output,
	}))
	program := exec.CommandContext(s.t.Context(), s.program)
	program.Stdin, program.Stdout = &request, &response
	used := s.run(program)
	_, err := protocol.Read(&response, func(float64, protocol.Stage) {})
	check(s.t, err)
	return used
}

// usage is the resource usage of a command and its child processes.
type usage struct {
	cpu, wall time.Duration
	memory    int64 // peak of all processes together, in bytes
}

// usages are those of several rounds.
type usages []usage

// median returns the middle value, which need not be that of the same round for two functions.
func (u usages) median(value func(i int) float64) float64 {
	values := make([]float64, len(u))
	for i := range u {
		values[i] = value(i)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// row returns cells of the table. Unless floor is nil, they compare the times with it.
func (u usages) row(length time.Duration, floor usages) string {
	cell := func(of func(usage) time.Duration) string {
		text := fmt.Sprintf("%.2f s", u.median(func(i int) float64 { return of(u[i]).Seconds() }))
		if floor != nil {
			text += fmt.Sprintf(" (%.2f ×)", u.median(func(i int) float64 { return of(u[i]).Seconds() / of(floor[i]).Seconds() }))
		}
		return text
	}
	memory := slices.MaxFunc(u, func(a, b usage) int { return cmp.Compare(a.memory, b.memory) }).memory
	return fmt.Sprintf("%s | %s | %.1f × | %d MB", cell(func(u usage) time.Duration { return u.cpu }), cell(func(u usage) time.Duration { return u.wall }),
		u.median(func(i int) float64 { return length.Seconds() / u[i].wall.Seconds() }), memory/1e6)
}

// run runs a command and returns its usage.
func (s setup) run(command *exec.Cmd) (u usage) {
	s.t.Helper()
	p := harness.Run(s.t, command)
	exited := make(chan error, 1)
	go func() { exited <- p.Wait() }()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			u.memory = max(u.memory, harness.TreeMemory(p.PID()))
		case err := <-exited:
			u.wall = time.Since(p.Started)
			check(s.t, err)
			// The times include those of child processes that have been waited for.
			u.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
			return u
		}
	}
}
