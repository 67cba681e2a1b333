package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
)

// process prepares the command as a process with only the given environment variables.
func process(t *testing.T, env, args []string) *exec.Cmd {
	t.Helper()
	program := try(os.Executable())(t)
	command := exec.CommandContext(context.Background(), program, args...)
	home := t.TempDir()
	command.Env = append([]string{asStudio + "=1", "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "GOCOVERDIR=" + home}, env...)
	return command
}

// exitCodeOf waits for a process and returns its exit code.
func exitCodeOf(t *testing.T, command *exec.Cmd) int {
	t.Helper()
	slow := time.AfterFunc(harness.Timeout, func() { _ = command.Process.Kill() })
	defer slow.Stop()
	_ = command.Wait() // the exit code has the result
	return command.ProcessState.ExitCode()
}

func TestProcess_readsTheEnvironment(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	for code, env := range map[int][]string{
		exitOK:           {"STUDIO_EMAIL=" + s.Email, "STUDIO_PASSWORD=" + s.Password},
		exitUnauthorized: {"STUDIO_TOKEN=canary"},
	} {
		command := process(t, append(env, "STUDIO_BASE_URL="+s.URL, "STUDIO_WORKSPACE="+s.Workspace), []string{"project", "list"})
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		check(t, command.Start())
		if got := exitCodeOf(t, command); got != code || strings.Contains(output.String(), "canary") || strings.Contains(output.String(), s.Password) {
			t.Errorf("exit code %d, %s", got, &output)
		}
	}
}

// An interrupt ends a running command silently and without a partial line.
func TestProcess_endsWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	url := answering(t, func(*http.Request) string { return `{"avatar_id":"a","status":"processing"}` }).Env.BaseURL
	command := process(t, []string{"STUDIO_BASE_URL=" + url, "STUDIO_TOKEN=token"}, []string{"avatar", "watch", "a"})
	output := &harness.Buffer{}
	command.Stdout, command.Stderr = output, output
	check(t, command.Start())
	harness.Eventually(t, "that it has begun", func() bool { return output.String() == "a processing\n" })
	check(t, command.Process.Signal(syscall.SIGINT))
	if code := exitCodeOf(t, command); code != exitInterrupted || strings.Count(output.String(), "\n") != 1 {
		t.Errorf("exit code %d, %s", code, output)
	}
}

// The completion of bash runs nothing that is typed, and no command whose arguments follow --.
func TestProcess_completesInBash(t *testing.T) {
	t.Parallel()
	harness.Need(t, "bash")
	script := newTest(t).must(t, "", "completion", "bash") + "\n" + `COMP_WORDS=("$0" "$@") COMP_CWORD=$#; _studio; echo "${COMPREPLY[@]}"`
	for line, want := range map[string]string{
		"vi": "video", "avatar create --ti": "--title", "avatar show ": "", "lipsync create --video ": "",
		"avatar show $(touch made) --js": "--json", "avatar list > made --l": "--limit", "webhook rotate -- ": "",
	} {
		command := process(t, nil, nil)
		command.Args = append([]string{"bash", "-c", script, command.Path}, strings.Split(line, " ")...)
		command.Path, command.Dir = try(exec.LookPath("bash"))(t), t.TempDir()
		if got := try(command.Output())(t); string(got) != want+"\n" || len(try(os.ReadDir(command.Dir))(t)) != 0 {
			t.Errorf("%q is completed with %q", line, got)
		}
	}
	newTest(t).must(t, "", "avatar", "show", "--", "ID", "--generate-shell-completion")
}
