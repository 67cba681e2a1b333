package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// asRenderer is an environment variable that makes the test program run as a renderer, which is controlled
// by files in a directory.
const asRenderer = "renderer"

// renderAsTold logs "started" and its output directory, reports progress, writes half of the video, and waits for the
// file "go" in directory. The video has the content of the input.
func renderAsTold(directory string) {
	request, err := protocol.ReadRequest(os.Stdin)
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(err)
	input, err := os.ReadFile(request.Inputs["video_url"])
	must(err)
	fmt.Fprintln(os.Stderr, "started", request.OutputDir)
	fmt.Println(`{"progress":0.8}`)
	video, err := os.Create(filepath.Join(request.OutputDir, "out.mp4"))
	must(err)
	_, err = video.Write(input[:len(input)/2])
	must(err)
	for {
		if _, err := os.Stat(filepath.Join(directory, "go")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, err = video.Write(input[len(input)/2:])
	must(err)
	fmt.Println(`{"result":{"video":"out.mp4","duration_seconds":1}}`)
}

// One of two workers is killed during a rendering. The other one renders again. No incomplete file or early
// end is visible, and the end is announced once.
func TestWork_otherWorkerTakesOverAfterKill(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of a lease")
	const content = "what the user has sent, which is long enough to have two halves"
	dsn, media, directory := studiotest.NewPostgres(t), "file:"+t.TempDir(), t.TempDir()
	in := startInbox(t, prepareDatabase(t, dsn))
	d := startProcess(t, dsn, "--render-workers=0", "--media", media)
	var workers []*harness.Process
	for range 2 {
		program := thisProgram(t)[0]
		command := exec.Command(program, "work", "--log-format=text", "--db", dsn, "--media", media, "--render-workers=1",
			"--renderer", "exec:"+program+" "+asRenderer+" "+directory)
		command.Env = append(os.Environ(), asDaemon+"=1")
		worker := harness.Run(t, command)
		check(t, worker.AwaitLog("msg=working"))
		workers = append(workers, worker)
	}
	// started returns the worker of each program that was started.
	started := func() (by []int) {
		for i, worker := range workers {
			for range strings.Count(worker.Log(), `line="started `) {
				by = append(by, i)
			}
		}
		return by
	}
	sent := try(d.client.UploadMedia(t.Context(), "video/mp4", strings.NewReader(content)))(t)
	request := lipsyncRequest("Hello", in.url)
	request.VideoURL = gen.Value(sent.URL)
	lipsync := try(d.client.CreateLipsync(t.Context(), request))(t)
	id := lipsync.InferenceID
	progress := func() float64 {
		now := try(d.client.GetLipsync(t.Context(), id))(t)
		if now.Status != gen.InferenceStatusProcessing || now.VideoURL != nil || now.Progress == nil || *now.Progress >= 100 {
			t.Errorf("before its end, the lip-sync is %+v", now)
		}
		return *now.Progress
	}
	harness.Eventually(t, "that the progress is seen", func() bool { return progress() == 80 })
	killed := started()[0]
	check(t, workers[killed].Kill())
	harness.Eventually(t, "the end of its program", func() bool { return len(studiotest.Processes(directory)) == 0 })
	harness.Eventually(t, "that the other worker renders", func() bool { return len(started()) == 2 })
	if by := started(); by[0] == by[1] || progress() != 80 {
		t.Errorf("the workers that render are %v, and the progress is %v", by, progress())
	}
	check(t, os.WriteFile(filepath.Join(directory, "go"), nil, 0o600))
	lipsync = try(d.client.WaitLipsync(t.Context(), id))(t)
	if lipsync.Status != gen.InferenceStatusSucceeded || lipsync.VideoURL == nil {
		t.Fatalf("the lip-sync is %+v", lipsync)
	}
	if response, body := get(t, *lipsync.VideoURL); response.StatusCode != http.StatusOK || body != content {
		t.Errorf("the video: %s, %q", response.Status, body)
	}
	in.want(t, id, inferenceEvent("lipsync_inference_event", id, "succeeded"))
	if by := started(); len(by) != 2 {
		t.Errorf("it was rendered %d times", len(by))
	}
	check(t, workers[1-killed].Stop())
}
