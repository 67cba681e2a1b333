package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
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

// fleet is a daemon that does not render, with everything that workers need.
type fleet struct {
	t         *testing.T
	dsn       string
	media     string
	directory string // the directory that controls renderAsTold
	serve     *process
	renderers []func() string // logs of processes that render
	in        *inbox
}

func newFleet(t *testing.T, dsn, media string) *fleet {
	t.Helper()
	return &fleet{t: t, dsn: dsn, media: "file:" + media, directory: t.TempDir(), in: startInbox(t, prepareDatabase(t, dsn), nil)}
}

// startFleet starts a fleet with the files in a bucket, which defaults to a directory.
func startFleet(t *testing.T, bucket string) *fleet {
	t.Helper()
	f := newFleet(t, studiotest.NewPostgres(t), t.TempDir())
	f.media = cmp.Or(bucket, f.media)
	f.serve = startProcess(t, f.dsn, "--render-workers=0", "--media", f.media)
	return f
}

// rendering returns the flags of a process that renders.
func (f *fleet) rendering() []string {
	f.t.Helper()
	return []string{"--media", f.media, "--render-workers=1", "--renderer", "exec:" + thisProgram(f.t)[0] + " " + asRenderer + " " + f.directory}
}

func (f *fleet) work() *harness.Process {
	f.t.Helper()
	p := startWorker(f.t, thisProgram(f.t), append(f.rendering(), "--db", f.dsn)...)
	f.renderers = append(f.renderers, p.Log)
	return p
}

// started returns, for each started program, the index of its log in f.renderers and its output directory.
func (f *fleet) started() (renderers []int, directories []string) {
	for i, log := range f.renderers {
		for _, found := range regexp.MustCompile(`line="started (.*)"`).FindAllStringSubmatch(log(), -1) {
			renderers, directories = append(renderers, i), append(directories, found[1])
		}
	}
	return renderers, directories
}

// awaitStarted waits until n programs have been started.
func (f *fleet) awaitStarted(n int) {
	f.t.Helper()
	harness.Eventually(f.t, fmt.Sprintf("the start of %d programs", n), func() bool { by, _ := f.started(); return len(by) == n })
}

// awaitEnded waits until no program runs.
func (f *fleet) awaitEnded() {
	f.t.Helper()
	harness.Eventually(f.t, "the end of all programs", func() bool { return len(studiotest.Processes(f.directory)) == 0 })
}

// finish lets the programs finish.
func (f *fleet) finish() {
	f.t.Helper()
	check(f.t, os.WriteFile(filepath.Join(f.directory, "go"), nil, 0o600))
}

const content = "what the user has sent, which is long enough to have two halves"

// create creates a lip-sync from an uploaded file.
func (f *fleet) create() *gen.Lipsync {
	f.t.Helper()
	sent, err := f.serve.client.UploadMedia(f.t.Context(), "video/mp4", strings.NewReader(content))
	check(f.t, err)
	request := lipsyncRequest("Hello", f.in.url)
	request.VideoURL = gen.Value(sent.URL)
	lipsync, err := f.serve.client.CreateLipsync(f.t.Context(), request)
	check(f.t, err)
	return lipsync
}

// wantVideo checks that a lip-sync is announced once and that its video is complete.
func (f *fleet) wantVideo(id string) {
	f.t.Helper()
	lipsync, err := f.serve.client.WaitLipsync(f.t.Context(), id)
	check(f.t, err)
	if lipsync.Status != gen.InferenceStatusSucceeded || lipsync.VideoURL == nil {
		f.t.Fatalf("the lip-sync is %+v", lipsync)
	}
	response, body := get(f.t, *lipsync.VideoURL)
	if response.StatusCode != http.StatusOK || body != content {
		f.t.Errorf("the video: %s, %q", response.Status, body)
	}
	f.in.want(f.t, id, inferenceEvent("lipsync_inference_event", id, "succeeded"))
}

// One of two workers is killed during a rendering. The other one renders again. No incomplete file or early
// end is visible, and the end is announced once.
func TestWork_otherWorkerTakesOverAfterKill(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for the end of a lease")
	f := startFleet(t, "")
	workers := []*harness.Process{f.work(), f.work()}
	lipsync := f.create()
	f.awaitStarted(1)
	progress := func() float64 {
		now, err := f.serve.client.GetLipsync(t.Context(), lipsync.InferenceID)
		check(t, err)
		if now.Status != gen.InferenceStatusProcessing || now.VideoURL != nil || now.Progress == nil || *now.Progress >= 100 {
			t.Errorf("before its end, the lip-sync is %+v", now)
		}
		return *now.Progress
	}
	harness.Eventually(t, "that the progress is seen", func() bool { return progress() == 80 })
	by, _ := f.started()
	killed := by[0]
	check(t, workers[killed].Kill())
	f.awaitEnded()
	harness.Eventually(t, "that the other worker renders", func() bool {
		if progress() != 80 {
			t.Error("the progress goes back")
		}
		by, _ = f.started()
		return len(by) == 2
	})
	if by[0] == by[1] {
		t.Error("the worker that was killed renders again")
	}
	f.finish()
	f.wantVideo(lipsync.InferenceID)
	if by, _ := f.started(); len(by) != 2 {
		t.Errorf("it was rendered %d times", len(by))
	}
	check(t, workers[1-killed].Stop())
}

// A stopped worker releases the jobs that it cannot finish in time, and another worker takes them at once.
func TestWork_stopReleasesUnfinishedJobs(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "")
	program, err := os.Executable()
	check(t, err)
	work := func() (stop func()) {
		log := &harness.Buffer{}
		f.renderers = append(f.renderers, log.String)
		d, err := openWorker(t.Context(), daemonConfig{
			Database: f.dsn, Media: f.media, StopTimeout: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil)),
			Render: renderConfig{Program: []string{program, asRenderer, f.directory}, Workers: 1},
		})
		check(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.runWorker(ctx) }()
		return func() {
			cancel()
			check(t, <-ended)
		}
	}
	wantDaemons := func(want int) {
		t.Helper()
		if listed := must(t, "", "version", "--daemons", "--json", "--db="+f.dsn); strings.Count(listed, `"version"`) != want {
			t.Errorf("want %d daemons, not\n%s", want, listed)
		}
	}
	stop := work()
	lipsync := f.create()
	f.awaitStarted(1)
	wantDaemons(2)
	stop()
	wantDaemons(1)
	f.awaitEnded()
	found := studiotest.OpenSQL(t, f.dsn)
	var free bool
	check(t, found.QueryRowContext(t.Context(), "SELECT process_id IS NULL AND render_tries = 0 FROM subjects JOIN renderings ON subject_id = id WHERE id = $1", lipsync.InferenceID).Scan(&free))
	if !free {
		t.Error("the rendering is not for others, or counts as one that failed")
	}
	defer work()()
	f.finish()
	f.wantVideo(lipsync.InferenceID)
}
