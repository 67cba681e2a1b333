package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// startMediaService starts a service whose records have files, and returns a logged-in program.
func startMediaService(t *testing.T) *program {
	t.Helper()
	return answering(t, func(r *http.Request) string {
		if name, ok := strings.CutPrefix(r.URL.Path, "/media/"); ok {
			return strings.Repeat(name, 1000)
		}
		media := "http://" + r.Host + "/media/"
		return `{"avatar_id":"1","inference_id":"1","status":"succeeded","thumbnail":"` + media + `picture","thumbnail_url":"` + media + `picture",
			"video":"` + media + `video","video_url":"` + media + `lipsync"}`
	})
}

func TestDownload_writesMediaAndThumbnails(t *testing.T) {
	t.Parallel()
	p := startMediaService(t)
	for _, test := range []struct {
		args    []string
		content string
	}{
		{[]string{"avatar", "download", "1"}, "picture"},
		{[]string{"video", "download", "1"}, "video"},
		{[]string{"video", "download", "--thumbnail", "1"}, "picture"},
		{[]string{"lipsync", "download", "1"}, "lipsync"},
		{[]string{"lipsync", "download", "1", "--thumbnail"}, "picture"},
	} {
		name := filepath.Join(t.TempDir(), "file")
		if out := p.must(t, "", append(test.args, "-o", name)...); out != "" {
			t.Errorf("%v prints %q", test.args, out)
		}
		want := strings.Repeat(test.content, 1000)
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%v: %d bytes, %v", test.args, len(got), err)
		}
		if out := p.must(t, "", append(test.args, "-o", "-")...); out != want {
			t.Errorf("%v to the standard output: %d bytes", test.args, len(out))
		}
	}
}

// An existing file is not overwritten without the flag.
func TestDownload_refusesToOverwrite(t *testing.T) {
	t.Parallel()
	p := startMediaService(t)
	name := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(name, []byte("old"), 0o600))
	code, _, stderr := p.run(t, "", "video", "download", "1", "-o", name)
	if old, _ := os.ReadFile(name); code != exitUsage || !strings.Contains(stderr, "--force") || string(old) != "old" {
		t.Errorf("exit code %d, %s, content %q", code, stderr, old)
	}
	if out := p.must(t, "", "video", "download", "1", "--force", "--json", "-o", name); !strings.HasSuffix(out, `"size":5000}`) {
		t.Errorf("it prints %q", out)
	}
	if replaced, _ := os.ReadFile(name); len(replaced) != 5000 {
		t.Errorf("%d bytes", len(replaced))
	}
	for _, other := range []string{filepath.Dir(name), os.DevNull} {
		p.mustFail(t, exitUsage, "is not a file", "video", "download", "1", "--force", "-o", other)
	}
}

// A bar shows the progress first, and is drawn at most ten times a second. A narrow terminal cuts its line.
func TestBar_showsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		bar := (&program{Stderr: &out, StderrTerminal: true}).newBar("uploading\x1b[2J")
		for i := range 1000 {
			bar.show(int64(i)*10_000, 40_000_000)
			time.Sleep(10 * time.Millisecond)
		}
		bar.end()
		lines := strings.Split(out.String(), clearLine)
		if want := `[####----------------]  24 % 9.9 MB of 40.0 MB uploading\x1b[2J` + uncut + "\n"; lines[len(lines)-1] != want || len(lines) != 101 {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
	})
	quiet := (&program{}).newBar("x")
	quiet.show(1, 2)
	quiet.end()
}

// A watch on a terminal shows the progress and the elapsed time, in a line that a narrow one cuts. Elsewhere no line is
// printed twice.
func TestWatch_showsProgress(t *testing.T) {
	t.Parallel()
	const line = "processing [##########----------]  50 % drawing 0s, about 50s left"
	for terminal, want := range map[bool]string{
		true:  "a\n" + clearLine + line + uncut + clearLine + "processing 2s" + uncut + "\n",
		false: "a processing\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			progress := progress{program: &program{Stdout: &out, Terminal: terminal}, began: time.Now()}
			check(t, progress.show(&subject{AvatarID: "a", Status: "processing", Progress: new(50.0), ProgressStage: new("drawing"), SecondsLeft: new(50)}))
			time.Sleep(2500 * time.Millisecond)
			check(t, progress.show(&subject{AvatarID: "a", Status: "processing"}))
			progress.end()
			if out.String() != want {
				t.Errorf("%q is shown, want %q", &out, want)
			}
		})
	}
}

func TestTitle_cutsLongTitles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("é", 60):  strings.Repeat("é", 60),
		strings.Repeat("é", 61):  strings.Repeat("é", 59) + "…",
		strings.Repeat("\n", 61): strings.Repeat(`\n`, 29) + `\…`,
	} {
		if got := title(&text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
