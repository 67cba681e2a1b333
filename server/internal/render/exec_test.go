package render_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

func TestMain(m *testing.M) {
	render.RunLimited()
	if len(os.Args) > 2 && os.Args[1] == "program" {
		program(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// program is the renderer's program of the tests.
func program(behaviour string) {
	request, err := protocol.ReadRequest(os.Stdin)
	if err != nil {
		panic(err)
	}
	out := func(name, content string) {
		if err := os.WriteFile(filepath.Join(request.OutputDir, name), []byte(content), 0o600); err != nil {
			panic(err)
		}
	}
	switch behaviour {
	case "works":
		fmt.Println(`{"progress":0.5}`)
		input, _ := os.ReadFile(request.Inputs["audio_url"])
		kept, _ := os.ReadFile(request.AvatarFiles["face.bin"])
		out("out.mp4", "video of "+string(input)+string(kept))
		out("face.bin", "face")
		fmt.Println(`{"result":{"video":"out.mp4","files":["face.bin"],"checks":[{"name":"one_face","status":"SUCCESS","message":"One."}]}}`)
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), " "))
		dir, _ := os.Getwd()
		fmt.Fprintln(os.Stderr, "in\x1b[31m", filepath.Base(dir))
		fmt.Println(`{"error":{"reason":"No."}}`)
	case "talks":
		for range 10_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("a", 10_000))
		}
		fmt.Println(`{"error":{"reason":"No face.","permanent":true,"checks":[{"name":"one_face","status":"FAILED","message":"None."}]}}`)
	case "crashes":
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
		os.Exit(3)
	case "babbles":
		fmt.Println(`hello`)
		select {}
	case "says nothing":
	case "names no file":
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "links":
		_ = os.Symlink("/etc/passwd", filepath.Join(request.OutputDir, "out.mp4"))
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "pipe":
		_ = syscall.Mkfifo(filepath.Join(request.OutputDir, "out.mp4"), 0o600)
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "hangs":
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
		fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
		fmt.Println(`{"progress":0.1}`)
		select {}
	case "leaves a child":
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
		fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
		out("out.mp4", "video")
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "takes memory":
		var all [][]byte
		for range 64 {
			all = append(all, bytes.Repeat([]byte{1}, 64<<20))
		}
		fmt.Println(len(all))
	case "takes time":
		for request.Attempt > 0 {
			runtime.Gosched() // for ever
		}
	case "writes much":
		file, _ := os.Create(filepath.Join(request.OutputDir, "out.mp4"))
		for err == nil {
			_, err = file.Write(make([]byte, 1<<20))
		}
		fmt.Println(`{"error":{"reason":"Too much.","permanent":true}}`)
	case "fills the disk when it is told":
		out("out.mp4", "video")
		if input, _ := os.ReadFile(request.Inputs["audio_url"]); string(input) != "https://example.com/full" {
			fmt.Println(`{"result":{"video":"out.mp4"}}`)
			return
		}
		file, _ := os.Create(filepath.Join(request.OutputDir, "out.mp4"))
		for err == nil {
			_, err = file.Write(make([]byte, 64<<10))
		}
		fmt.Println(`{"error":{"reason":"No video.","permanent":true}}`)
	case "opens many":
		for n := 0; ; n++ {
			if _, err := os.Open(os.DevNull); err != nil {
				fmt.Printf(`{"error":{"reason":"%d files","permanent":true}}`, n)
				return
			}
		}
	}
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(data)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type bundle struct {
	*render.Exec
	t      *testing.T
	studio *studio.Service
	user   studio.User
	media  *studiotest.Media
	log    *lockedBuffer
	dir    string
}

// setup makes an Exec whose program behaves in a way, over a domain on a database.
func setup(t *testing.T, behaviour string, limits render.Limits) bundle {
	t.Helper()
	return setupIn(t, t.TempDir(), behaviour, limits)
}

// setupIn is setup with the directory of working directories.
func setupIn(t *testing.T, dir, behaviour string, limits render.Limits) bundle {
	t.Helper()
	cfg := studiotest.Config(studiotest.Open(t, studiotest.NewSQLite(t)), time.Now)
	cfg.AutoConsent = func(studio.Subject) bool { return true }
	s := bundle{t: t, studio: studio.New(cfg), media: cfg.Media.(*studiotest.Media), log: &lockedBuffer{}, dir: dir}
	s.user = studiotest.AddUser(t, s.studio, "ada@example.com")
	self, err := os.Executable()
	s.check(err)
	s.Exec, err = render.NewExec(render.ExecConfig{
		Program: []string{self, "program", behaviour}, Limits: limits, Directory: s.dir, Studio: s.studio,
		Fetch: func(_ context.Context, _ studio.Subject, url string, file *os.File) error {
			if url == "https://example.com/404" {
				return &studio.RenderError{Reason: "cannot be fetched."}
			}
			_, err := io.WriteString(file, url)
			return err
		},
		Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	s.check(err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(s.dir); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
	})
	return s
}

func (s bundle) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s bundle) lipsync(request string) studio.Subject {
	s.t.Helper()
	subject, err := s.studio.CreateLipsync(s.t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(request)})
	s.check(err)
	return subject
}

// left fails when a rendering has left something in the directory.
func (s bundle) nothingIsLeft() {
	s.t.Helper()
	if left, err := filepath.Glob(filepath.Join(s.dir, "*", "work-*")); err != nil || len(left) != 0 {
		s.t.Errorf("%v is left, %v", left, err)
	}
}

// child waits for the log to tell the number of a process that the program started.
func (s bundle) child() int {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		_, after, ok := strings.Cut(s.log.String(), `line="child `)
		if number, _, whole := strings.Cut(after, `"`); ok && whole {
			pid, err := strconv.Atoi(number)
			s.check(err)
			return pid
		}
		<-time.After(10 * time.Millisecond)
	}
	return 0
}

// gone waits for a process to have gone.
func (s bundle) gone(pid int) {
	s.t.Helper()
	for range 200 {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	s.t.Errorf("process %d still runs", pid)
}

// The program gets the inputs, and of a video what its avatar's rendering left; what it makes is kept.
func TestExec_renders(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	avatar, err := s.studio.CreateAvatar(t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)})
	s.check(err)
	result, err := s.Render(t.Context(), avatar)
	s.check(err)
	if len(result.Checks) != 1 || result.Checks[0] != (studio.Check{Name: "one_face", OK: true, Message: "One."}) {
		t.Errorf("checks %v", result.Checks)
	}
	_, err = s.studio.Rendered(t.Context(), avatar.ID, result, nil)
	s.check(err)
	video, err := s.studio.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: s.user.ID, Request: []byte(`{"audio_url":"https://example.com/a"}`)})
	s.check(err)
	for range 2 { // again, as after a crash
		result, err = s.Render(t.Context(), video)
		s.check(err)
	}
	file, err := s.media.Open(t.Context(), studio.ResultKey(video.ID, result.Video))
	s.check(err)
	if content, _ := io.ReadAll(file); string(content) != "video of https://example.com/aface" {
		t.Errorf("the video is %q", content)
	}
	if keys := s.media.Keys(); len(keys) != 4 {
		t.Errorf("files %v", keys)
	}
	if video, err = s.studio.Find(t.Context(), s.user.ID, studio.Video, video.ID); err != nil || video.Progress != 50 {
		t.Errorf("progress %d, %v", video.Progress, err)
	}
	s.nothingIsLeft()
}

// What a program does wrong is tried again, with a reason that tells nothing of the program.
func TestExec_failures(t *testing.T) {
	t.Parallel()
	const mistake = "The renderer failed."
	for _, test := range []struct {
		behaviour, reason string
		retry             bool
	}{
		{"talks", "No face.", false},
		{"environment", "No.", true},
		{"crashes", mistake, true},
		{"babbles", mistake, true},
		{"says nothing", mistake, true},
		{"names no file", mistake, true},
		{"links", mistake, true},
		{"pipe", mistake, true},
	} {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			s := setup(t, test.behaviour, render.Limits{})
			_, err := s.Render(t.Context(), s.lipsync(`{}`))
			failure, ok := errors.AsType[*studio.RenderError](err)
			if !ok || failure.Reason != test.reason || failure.Retry != test.retry {
				t.Errorf("failure %+v, %v", failure, err)
			}
			if test.behaviour == "talks" && (len(failure.Checks) != 1 || failure.Checks[0].OK) {
				t.Errorf("checks %v", failure.Checks)
			}
			if keys := s.media.Keys(); len(keys) != 0 {
				t.Errorf("files %v", keys)
			}
			if n := len(s.log.String()); n > 64<<10 {
				t.Errorf("%d bytes are logged", n)
			}
			s.nothingIsLeft()
		})
	}
}

// The log gets what a program says, without what a terminal would obey, and the program gets
// nothing of the environment that is not listed.
func TestExec_environment(t *testing.T) {
	t.Setenv("STUDIO_PASSWORD", "geheim")
	s := setup(t, "environment", render.Limits{})
	_, _ = s.Render(t.Context(), s.lipsync(`{}`))
	log := s.log.String()
	if strings.Contains(log, "geheim") || strings.Contains(log, `\x1b`) || !strings.Contains(log, "PATH=") || !strings.Contains(log, "in [31m work-") {
		t.Errorf("log:\n%s", log)
	}
}

// An input that cannot be fetched is a failure that names the member of the request.
func TestExec_input(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	_, err := s.Render(t.Context(), s.lipsync(`{"video_url":"https://example.com/404"}`))
	failure, ok := errors.AsType[*studio.RenderError](err)
	if !ok || failure.Retry || failure.Reason != "The video_url cannot be fetched." {
		t.Errorf("failure %v", err)
	}
	s.nothingIsLeft()
}

// When the context ends, the program ends with all that it has started.
func TestExec_isKilled(t *testing.T) {
	t.Parallel()
	s := setup(t, "hangs", render.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	subject := s.lipsync(`{}`)
	go func() {
		_, err := s.Render(ctx, subject)
		ended <- err
	}()
	child := s.child()
	began := time.Now()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	s.gone(child)
	s.nothingIsLeft()
}

// What a program leaves behind ends with it, and holds nothing up.
func TestExec_leavesNoProcess(t *testing.T) {
	t.Parallel()
	s := setup(t, "leaves a child", render.Limits{})
	_, err := s.Render(t.Context(), s.lipsync(`{}`))
	s.check(err)
	s.gone(s.child())
}

// A program cannot use more than its limits.
func TestExec_limits(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]string{
		"takes memory": "The renderer failed.",
		"takes time":   "The renderer failed.",
		"writes much":  "Too much.",
		"opens many":   " files",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			s := setup(t, behaviour, render.Limits{CPU: 2 * time.Second, Memory: 1 << 30, FileSize: 10 << 20, OpenFiles: 40})
			_, err := s.Render(t.Context(), s.lipsync(`{}`))
			if failure, ok := errors.AsType[*studio.RenderError](err); !ok || !strings.HasSuffix(failure.Reason, want) {
				t.Errorf("failure %v, log:\n%s", err, s.log)
			}
			s.nothingIsLeft()
		})
	}
}

// The directories of processes that were killed are removed at the next start; those of others stay.
func TestNewExec_sweeps(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	dead := filepath.Join(s.dir, "studiod-render-1")
	s.check(os.MkdirAll(filepath.Join(dead, "work-1", "output"), 0o700))
	s.check(os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600))
	second, err := render.NewExec(render.ExecConfig{Program: []string{"true"}, Directory: s.dir})
	s.check(err)
	defer func() { s.check(second.Close()) }()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s is still there, %v", dead, err)
	}
	if all, _ := os.ReadDir(s.dir); len(all) != 2 {
		t.Errorf("directories %v", all)
	}
	_, err = render.NewExec(render.ExecConfig{Program: []string{"/no/such/program"}, Directory: s.dir})
	if err == nil {
		t.Error("a program that is not there is taken")
	}
}
