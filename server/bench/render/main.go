// Command render compares studio-render with a plain transcode of the same clip by ffmpeg. It measures wall time, CPU
// time and peak memory of all processes. Memory is read from /proc; without it, it is 0. The command also compares the
// speed of serving media files with http.FileServer.
//
// "go run ./render" writes RENDER.md. "go run ./render -short" takes seconds and only prints. The command does not fail
// if rendering is slow.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/gobuild"
	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

func main() { harness.Main("render", run) }

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("render", flag.ContinueOnError)
	flags.SetOutput(progress)
	short := flags.Bool("short", false, "measure for seconds only, and write no file")
	file := flags.String("o", "RENDER.md", "file to write")
	var rounds, seconds, long int
	flags.IntVar(&rounds, "rounds", 5, "number of rounds; the report shows minimum times")
	flags.IntVar(&seconds, "seconds", 10, "length of the clip, in seconds")
	flags.IntVar(&long, "long", 120, "length of the long clip, in seconds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *short {
		rounds, seconds, long = 1, 1, 2
	}
	dir, err := os.MkdirTemp("", "bench-render-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := gobuild.Program(ctx, "github.com/avatarstudio/avatarstudio/server/cmd/studio-render")
	if err != nil {
		return err
	}
	s := setup{progress: progress, dir: dir, program: program}
	if err := s.prepare(ctx, seconds, long); err != nil {
		return err
	}
	report, err := s.measure(ctx, rounds, seconds, long)
	if err != nil {
		return err
	}
	if *short {
		_, err := io.WriteString(out, report)
		return err
	}
	return os.WriteFile(*file, []byte(report), 0o644) //nolint:gosec // the report is public
}

// setup is the directory with the program and the clips.
type setup struct {
	progress     io.Writer
	dir, program string
}

func (s setup) path(name string) string { return filepath.Join(s.dir, name) }

// prepare makes clips from a picture of a face that the module pigo contains.
func (s setup) prepare(ctx context.Context, seconds, long int) error {
	root, err := gobuild.Root(ctx)
	if err != nil {
		return err
	}
	find := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/esimov/pigo")
	find.Dir = root
	module, err := find.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	face := filepath.Join(strings.TrimSpace(string(module)), "testdata", "sample.jpg")
	for name, length := range map[string]int{"clip.mp4": seconds, "long.mp4": long} {
		// The head moves, and the picture has the noise of a camera.
		filter := "scale=-2:800,pad=1480:840:(ow-iw)/2:20:color=0x5a6a72,rotate=0.04*sin(2*PI*t/3):c=0x5a6a72,noise=alls=5:allf=t," +
			"crop=1280:720:100+60*sin(2*PI*t/4):60+25*sin(2*PI*t/3),format=yuv420p"
		if err := s.ffmpeg(ctx, "-loop", "1", "-r", "25", "-i", face, "-t", fmt.Sprint(length), "-vf", filter,
			"-c:v", "libx264", "-preset", "veryfast", "-crf", "18", s.path(name)); err != nil {
			return err
		}
		// A hum with four syllables per second.
		voice := "0.2*(0.5-0.5*cos(2*PI*4*t))*(sin(2*PI*120*t)+sin(2*PI*720*t)+0.5*sin(2*PI*1200*t))"
		if err := s.ffmpeg(ctx, "-f", "lavfi", "-i", "aevalsrc="+strings.ReplaceAll(voice, ",", "\\,")+":s=48000", "-t", fmt.Sprint(length),
			s.path(strings.TrimSuffix(name, ".mp4")+".wav")); err != nil {
			return err
		}
	}
	return nil
}

func (s setup) ffmpeg(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...).CombinedOutput() //nolint:gosec // no shell
	if err != nil {
		return fmt.Errorf("ffmpeg: %w: %s", err, output)
	}
	return nil
}

// Sizes of the served files.
const (
	videoSize   = 32 << 20
	pictureSize = 64 << 10
)

// measure returns the report.
func (s setup) measure(ctx context.Context, rounds, seconds, long int) (string, error) {
	var plain, lips, still usage
	for round := range rounds {
		fmt.Fprintf(s.progress, "round %d of %d\n", round+1, rounds)
		for _, task := range []struct {
			best *usage
			run  func() (usage, error)
		}{
			{&plain, func() (usage, error) { return s.transcode(ctx, "clip") }},
			{&lips, func() (usage, error) { return s.lipsync(ctx, s.path("clip.mp4"), "clip") }},
			{&still, func() (usage, error) { return s.lipsync(ctx, "", "clip") }},
		} {
			used, err := task.run()
			if err != nil {
				return "", err
			}
			task.best.improve(used)
		}
	}
	fmt.Fprintf(s.progress, "clip of %d seconds\n", long)
	longest, err := s.lipsync(ctx, s.path("long.mp4"), "long")
	if err != nil {
		return "", err
	}
	files := 40 * rounds
	video, err := s.serve(ctx, videoSize, files)
	if err != nil {
		return "", err
	}
	picture, err := s.serve(ctx, pictureSize, 10*files)
	if err != nil {
		return "", err
	}
	length := time.Duration(seconds) * time.Second
	var b strings.Builder
	fmt.Fprintf(&b, `# Rendering

A lip-sync by studio-render and a plain transcode by ffmpeg with the same encoder settings are measured alternately, with
a clip of %d s, 1280 × 720 at 25 frames per second, and sound of 48 kHz. CPU time and memory include all processes, such
as ffmpeg. Memory is the peak of their total proportional set size (PSS). Times are the minimum of %d rounds, and memory
is the maximum. Reproduce with `+"`make bench-render`"+`. The figures depend on the machine and its other load.

%s %s/%s, %d CPUs.

| | Target | CPU time | Wall time | Memory |
|---|---|---|---|---|
| plain transcode | | %.2f s | %.2f s | %d MiB |
| lip-sync of the clip | ≤ 2.5 × the CPU time, ≥ 2 × real time, < 300 MB | %.2f s (%.2f ×) | %.2f s (%.1f × real time) | %d MiB |
| lip-sync of a picture (the built-in presenter) | ≥ 2 × real time, < 300 MB | %.2f s | %.2f s (%.1f × real time) | %d MiB |
| lip-sync of a clip of %d s | < 300 MB | %.2f s | %.2f s (%.1f × real time) | %d MiB |
`, seconds, rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		plain.cpu.Seconds(), plain.wall.Seconds(), plain.memory>>20,
		lips.cpu.Seconds(), lips.cpu.Seconds()/plain.cpu.Seconds(), lips.wall.Seconds(), length.Seconds()/lips.wall.Seconds(), lips.memory>>20,
		still.cpu.Seconds(), still.wall.Seconds(), length.Seconds()/still.wall.Seconds(), still.memory>>20,
		long, longest.cpu.Seconds(), longest.wall.Seconds(), float64(long)/longest.wall.Seconds(), longest.memory>>20)
	fmt.Fprintf(&b, `
Each server sends each file over loopback, alternately: the large file %d times, the small file %d times. Rates are the
maximum. The target of the ratio is ≥ 0.9.

| GET of a file | /media | http.FileServer | Ratio |
|---|---|---|---|
`, files, 10*files)
	b.WriteString(video.row("32 MiB", videoSize) + picture.row("64 KiB", pictureSize))
	return b.String(), nil
}

// transcode encodes a clip with the settings of studio-render, without changing its pictures.
func (s setup) transcode(ctx context.Context, name string) (usage, error) {
	return measure(exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-nostdin", "-y", "-i", s.path(name+".mp4"), "-i", s.path(name+".wav"), //nolint:gosec // no shell
		"-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-profile:v", "high", "-pix_fmt", "yuv420p",
		"-threads", "2", "-x264-params", "sync-lookahead=0", "-c:a", "aac", "-b:a", "160k", "-movflags", "+faststart", s.path("plain.mp4")))
}

// lipsync runs studio-render. Without a video, it renders the presenter.
func (s setup) lipsync(ctx context.Context, video, name string) (usage, error) {
	output := s.path("output")
	if err := errors.Join(os.RemoveAll(output), os.Mkdir(output, 0o700)); err != nil {
		return usage{}, err
	}
	inputs := map[string]string{"audio_url": s.path(name + ".wav")}
	if video != "" {
		inputs["video_url"] = video
	}
	var request, response bytes.Buffer
	if err := protocol.WriteRequest(&request, protocol.Request{
		Version: protocol.Version, Kind: protocol.Lipsync, ID: "1", Attempt: 1, Request: []byte(`{}`), Inputs: inputs, OutputDir: output,
	}); err != nil {
		return usage{}, err
	}
	program := exec.CommandContext(ctx, s.program) //nolint:gosec // built by run
	program.Stdin, program.Stdout, program.Stderr = &request, &response, s.progress
	used, err := measure(program)
	if err != nil {
		return usage{}, err
	}
	_, err = protocol.Read(&response, func(float64) {})
	return used, err
}
