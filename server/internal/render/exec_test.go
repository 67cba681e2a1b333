package render_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/render"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func init() { runtime.LockOSThread() } //nolint:gochecknoinits // locks the main goroutine to the first thread

func TestMain(m *testing.M) {
	executed := make(chan struct{})
	go func() { // on another thread than the first, as may happen in a daemon
		render.RunLimited()
		close(executed)
	}()
	<-executed
	if len(os.Args) > 2 && os.Args[1] == "program" {
		program(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

// program is the program of the renderers under test.
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
		for _, name := range previews {
			out(name, name)
		}
		fmt.Println(`{"result":{"video":"out.mp4","previews":{"still":"a.png","still_play":"b.png","animation":"a.gif","animation_play":"b.gif"},` +
			`"voice":"a.m4a","subtitles":"a.srt","captions":"a.vtt","language":"en-GB","duration_seconds":1.5,"files":["face.bin"],"checks":[{"name":"one_face","status":"SUCCESS","message":"One."}]}}`)
	case "speaks":
		if request.Kind == protocol.Voices {
			fmt.Println(`{"result":{"voices":[{"id":"en-gb","language":"en-GB","name":"English"},{"id":"de+f","language":"de","name":"German, \u001bAnna","gender":"female"}]}}`)
			return
		}
		out("out.mp4", "video by "+request.Voice)
		fmt.Println(`{"result":{"video":"out.mp4","checks":[{"name":"spoken_whole","status":"SUCCESS","message":"All."},{"name":"speaks_language","status":"SUCCESS","message":"It reads it."}]}}`)
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), " "))
		dir, _ := os.Getwd()
		fmt.Fprintln(os.Stderr, "in\x1b[31m", filepath.Base(dir))
		fmt.Println(`{"error":{"reason":"No."}}`)
	case "reports failure":
		for range 1_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("a", 10_000))
		}
		fmt.Println(`{"error":{"reason":"No face.","permanent":true,"checks":[{"name":"one_face","status":"FAILED","message":"None."}]}}`)
	case "crashes":
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
		os.Exit(3)
	case "writes no JSON":
		fmt.Println(`hello`)
		hang()
	case "writes nothing":
	case "names missing file", "symbolic link", "hard link", "linked directory", "named pipe":
		out("kept", "video")
		kept, named := filepath.Join(request.OutputDir, "kept"), filepath.Join(request.OutputDir, "out.mp4")
		switch behaviour {
		case "symbolic link":
			_ = os.Symlink("kept", named)
		case "hard link":
			_ = os.Link(kept, named)
		case "linked directory":
			_ = errors.Join(os.Rename(kept, named), os.Rename(request.OutputDir, request.OutputDir+"2"), os.Symlink(request.OutputDir+"2", request.OutputDir))
		case "named pipe":
			_ = syscall.Mkfifo(named, 0o600)
		}
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "locked directory":
		locked := filepath.Join(request.OutputDir, "a", "b")
		_ = os.MkdirAll(filepath.Join(locked, "c"), 0o700)
		_ = os.Chmod(locked, 0)
		_ = os.Chmod(filepath.Dir(locked), 0)
		_ = os.Chmod(filepath.Dir(request.OutputDir), 0)
		fmt.Println(`{"error":{"reason":"Locked."}}`)
	case "hangs":
		startSleeping()
		fmt.Println(`{"progress":0.1}`)
		hang()
	case "leaves a child":
		startSleeping()
		out("out.mp4", "video")
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "uses memory":
		var all [][]byte // several allocations, because the first one over the limit may succeed
		for range 64 {
			all = append(all, make([]byte, 64<<20))
		}
		out("out.mp4", string(all[0][:1]))
		fmt.Println(`{"result":{"video":"out.mp4"}}`)
	case "uses CPU":
		for request.Attempt > 0 {
			runtime.Gosched() // use the processor forever
		}
	case "writes large file":
		file, _ := os.Create(filepath.Join(request.OutputDir, "out.mp4"))
		for err == nil {
			_, err = file.Write(make([]byte, 1<<20))
		}
		fmt.Println(`{"error":{"reason":"Too much.","permanent":true}}`)
	case "fills the disk on request":
		out("out.mp4", "video")
		input, _ := os.ReadFile(request.Inputs["audio_url"])
		size, fills := map[string]int{"full": 64 << 10, "files": 0}[path.Base(string(input))]
		if !fills {
			fmt.Println(`{"result":{"video":"out.mp4"}}`)
			return
		}
		for n := 0; err == nil; n++ {
			err = os.WriteFile(filepath.Join(request.OutputDir, fmt.Sprint(n)), make([]byte, size), 0o600)
		}
		fmt.Println(`{"error":{"reason":"No video.","permanent":true}}`)
	case "death signal":
		fmt.Printf(`{"error":{"reason":"signal %d","permanent":true}}`, deathSignal())
	case "memory limit":
		fmt.Printf(`{"error":{"reason":"limit %d","permanent":true}}`, memoryLimit())
	case "opens many files":
		for n := 0; ; n++ {
			if _, err := os.Open(os.DevNull); err != nil {
				fmt.Printf(`{"error":{"reason":"%d files","permanent":true}}`, n)
				return
			}
		}
	}
}

// previews are the files that the program "works" makes besides the video and the files of the avatar.
var previews = []string{"a.png", "b.png", "a.gif", "b.gif", "a.m4a", "a.srt", "a.vtt"}

// hang waits until this process is killed. Without cgo, the runtime would end a program in which no goroutine can go
// on.
func hang() { time.Sleep(time.Hour) }

// startSleeping starts a process that outlives the program, and logs its argument.
func startSleeping() {
	argument := fmt.Sprintf("600.%d", time.Now().UnixNano())
	child := exec.Command("/bin/sleep", argument)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "child", argument)
}

// fixture is an Exec with a service, a user and a log.
type fixture struct {
	*render.Exec
	t      *testing.T
	studio *studio.Service
	user   studio.User
	media  *memstore.Media
	log    *harness.Buffer
	dir    string
}

// setup returns an Exec whose program has the given behaviour, with a service on a database.
func setup(t *testing.T, behaviour string, limits render.Limits) fixture {
	t.Helper()
	return setupIn(t, t.TempDir(), behaviour, limits)
}

// setupIn is setup with dir as the parent of the working directories.
func setupIn(t *testing.T, dir, behaviour string, limits render.Limits) fixture {
	t.Helper()
	cfg := studiotest.Config(studiotest.Open(t, studiotest.NewSQLite(t)), time.Now)
	cfg.AutoConsent = func(studio.Subject) bool { return true }
	s := fixture{t: t, studio: studio.New(cfg), media: cfg.Media.(*memstore.Media), log: &harness.Buffer{}, dir: dir}
	s.user = studiotest.AddUser(t, s.studio, "ada@example.com")
	self := try(os.Executable())(t)
	s.Exec = try(render.NewExec(t.Context(), render.ExecConfig{
		Program: []string{self, "program", behaviour}, Limits: limits, Directory: s.dir, Studio: s.studio,
		Fetch: func(_ context.Context, _ studio.Subject, url string, file *os.File) error {
			if url == "https://example.com/404" {
				return &studio.RenderError{Reason: "cannot be fetched."}
			}
			_, err := io.WriteString(file, url)
			return err
		},
		Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	}))(t)
	t.Cleanup(func() {
		check(t, s.Close())
		if left, _ := os.ReadDir(s.dir); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
	})
	return s
}

func (s fixture) lipsync(request string) studio.Subject {
	s.t.Helper()
	return try(s.studio.CreateLipsync(s.t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(request)}))(s.t)
}

// noWorkDirs fails the test if a rendering has left its working directory behind.
func (s fixture) noWorkDirs() {
	s.t.Helper()
	if left, err := filepath.Glob(filepath.Join(s.dir, "*", "work-*")); err != nil || len(left) != 0 {
		s.t.Errorf("%v is left, %v", left, err)
	}
}

// child waits until the program has logged the argument of the process that it started, and returns the argument.
func (s fixture) child() string {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		_, after, ok := strings.Cut(s.log.String(), `line="child `)
		if argument, _, whole := strings.Cut(after, `"`); ok && whole {
			return argument
		}
		<-time.After(10 * time.Millisecond)
	}
	return ""
}

// waitExit waits until the process with an argument has exited.
func (s fixture) waitExit(argument string) {
	s.t.Helper()
	harness.Eventually(s.t, "the end of sleep "+argument, func() bool { return len(studiotest.Processes(argument)) == 0 })
}

// The program of a video reads its input and the files of its avatar, and its own files are stored.
func TestExec_rendersAvatarAndVideo(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	avatar := try(s.studio.CreateAvatar(t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)}))(t)
	result := try(s.Render(t.Context(), avatar))(t)
	if len(result.Checks) != 1 || result.Checks[0] != (studio.Check{Name: "one_face", OK: true, Message: "One."}) {
		t.Errorf("checks %v", result.Checks)
	}
	try(s.studio.Rendered(t.Context(), avatar.ID, result, nil))(t)
	video, err := s.studio.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: s.user.ID, Request: []byte(`{"audio_url":"https://example.com/a","unknown":1e999}`)})
	check(t, err)
	for range 2 { // the second time as after a crash
		result = try(s.Render(t.Context(), video))(t)
	}
	file := try(s.media.Open(t.Context(), studio.ResultKey(video.ID, result.Video)))(t)
	if content, _ := io.ReadAll(file); string(content) != "video of https://example.com/aface" {
		t.Errorf("the video is %q", content)
	}
	want := studio.Rendering{
		Video: "out.mp4", Previews: studio.Previews{Still: "a.png", StillPlay: "b.png", Animation: "a.gif", AnimationPlay: "b.gif"},
		Voice: "a.m4a", Subtitles: "a.srt", Captions: "a.vtt", Language: "en-GB", Seconds: 1.5,
		Files: []string{"face.bin"}, Checks: result.Checks,
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	if keys := s.media.Keys(); len(keys) != 2*(2+len(previews)) {
		t.Errorf("files %v", keys)
	}
	if video, err = s.studio.Find(t.Context(), s.user.ID, studio.Video, video.ID); err != nil || video.Progress != 50 {
		t.Errorf("progress %d, %v", video.Progress, err)
	}
	s.noWorkDirs()
}

// A video of an avatar from the time when renderings were simulated fails at once, with the cause.
func TestExec_namesSimulatedAvatar(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	avatar := try(s.studio.CreateAvatar(t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)}))(t)
	result := try(simulate.Renderer{}.Render(t.Context(), avatar))(t)
	avatar = try(s.studio.Rendered(t.Context(), avatar.ID, result, nil))(t)
	if len(avatar.Rendering.Checks) != 1 || !strings.Contains(avatar.Rendering.Checks[0].Message, "simulated") {
		t.Errorf("the avatar is %+v", avatar)
	}
	video := try(s.studio.CreateVideo(t.Context(), avatar.ID, studio.Creation{UserID: s.user.ID, Request: []byte(`{"text":"Hello"}`)}))(t)
	_, err := s.Render(t.Context(), video)
	if failure, ok := errors.AsType[*studio.RenderError](err); !ok || failure.Retry || !strings.Contains(failure.Reason, "The avatar is simulated") {
		t.Errorf("error is %v", err)
	}
}

// A violation of the protocol is a transient failure, and its reason says nothing about the program. A
// failure that the program reports is passed on.
func TestExec_failuresBecomeRenderErrors(t *testing.T) {
	t.Parallel()
	const mistake = "The renderer failed."
	for _, test := range []struct {
		behaviour, reason string
		retry             bool
	}{
		{"works", "The video_url cannot be fetched.", false},
		{"reports failure", "No face.", false},
		{"environment", "No.", true},
		{"crashes", mistake, true},
		{"writes no JSON", mistake, true},
		{"writes nothing", mistake, true},
		{"names missing file", mistake, true},
		{"symbolic link", mistake, true},
		{"hard link", mistake, true},
		{"linked directory", mistake, true},
		{"locked directory", "Locked.", true},
		{"named pipe", mistake, true},
	} {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			s := setup(t, test.behaviour, render.Limits{})
			video := map[string]string{"works": "https://example.com/404"}[test.behaviour]
			request := fmt.Sprintf(`{"video_url":%q,"audio_url":"https://example.com/404","use_audio_from_video":true}`, video)
			_, err := s.Render(t.Context(), s.lipsync(request))
			failure, ok := errors.AsType[*studio.RenderError](err)
			if !ok || failure.Reason != test.reason || failure.Retry != test.retry {
				t.Errorf("failure %+v, %v", failure, err)
			}
			if test.behaviour == "reports failure" && (len(failure.Checks) != 1 || failure.Checks[0].OK) {
				t.Errorf("checks %v", failure.Checks)
			}
			if keys := s.media.Keys(); len(keys) != 0 {
				t.Errorf("files %v", keys)
			}
			if n := len(s.log.String()); n > 64<<10 {
				t.Errorf("%d bytes are logged", n)
			}
			s.noWorkDirs()
		})
	}
}

// Standard error is logged without control characters, and the program sees only the listed variables of
// the environment.
func TestExec_hidesEnvironmentAndCleansLog(t *testing.T) {
	t.Setenv("STUDIO_PASSWORD", "geheim")
	s := setup(t, "environment", render.Limits{})
	_, _ = s.Render(t.Context(), s.lipsync(`{}`))
	log := s.log.String()
	if strings.Contains(log, "geheim") || strings.Contains(log, `\x1b`) || !strings.Contains(log, "PATH=") || !strings.Contains(log, "in [31m work-") {
		t.Errorf("log:\n%s", log)
	}
}

func TestExec_killsProcesses(t *testing.T) {
	t.Parallel()
	testKills(t)
}

// testKills tests that a process which the program leaves running is killed, and does not delay Render.
func testKills(t *testing.T) {
	s := setup(t, "leaves a child", render.Limits{})
	try(s.Render(t.Context(), s.lipsync(`{}`)))(t)
	s.waitExit(s.child())

	s = setup(t, "hangs", render.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	subject := s.lipsync(`{}`)
	go func() {
		_, err := s.Render(ctx, subject)
		ended <- err
	}()
	child := s.child()
	if len(studiotest.Processes(child)) == 0 {
		t.Errorf("sleep %s does not run", child)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	s.waitExit(child)
	s.noWorkDirs()
}

func TestExec_enforcesLimits(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]string{
		"uses memory":       "The renderer failed.",
		"uses CPU":          "The renderer failed.",
		"writes large file": "Too much.",
		"opens many files":  " files",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			s := setup(t, behaviour, render.Limits{CPU: time.Second, Memory: 1 << 30, FileSize: 10 << 20, OpenFiles: 40})
			_, err := s.Render(t.Context(), s.lipsync(`{}`))
			if failure, ok := errors.AsType[*studio.RenderError](err); !ok || !strings.HasSuffix(failure.Reason, want) {
				t.Errorf("failure %v, log:\n%s", err, s.log)
			}
			s.noWorkDirs()
		})
	}
}

// NewExec removes the directories of dead processes, and no others.
func TestNewExec_removesStaleDirectories(t *testing.T) {
	t.Parallel()
	s := setup(t, "works", render.Limits{})
	dead := filepath.Join(s.dir, "studiod-render-1")
	check(t, os.MkdirAll(filepath.Join(dead, "work-1", "output"), 0o700))
	check(t, os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600))
	second := try(render.NewExec(t.Context(), render.ExecConfig{Program: []string{"true"}, Directory: s.dir}))(t)
	defer func() { check(t, second.Close()) }()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s is still there, %v", dead, err)
	}
	if all, _ := os.ReadDir(s.dir); len(all) != 2 {
		t.Errorf("directories %v", all)
	}
	if _, err := render.NewExec(t.Context(), render.ExecConfig{Program: []string{"/no/such/program"}, Directory: s.dir}); err == nil {
		t.Error("NewExec accepts a program that does not exist")
	}
}
