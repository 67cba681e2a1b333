package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// asAttacker is an argument that makes the test program run as a hostile renderer.
const asAttacker = "attacker"

// victim is a daemon that a hostile program attacks. The program gets it as its input.
type victim struct {
	PID       int      `json:"pid"`
	Canary    string   `json:"canary"` // in the environment
	Database  string   `json:"database"`
	Keys      string   `json:"keys"`
	Media     string   `json:"media"`
	Addresses []string `json:"addresses"`
	Survivor  string   `json:"survivor"` // argument of a process that outlives the program
	Hang      bool     `json:"hang"`     // leave the session and do nothing else
}

// attack makes all attacks and reports those that succeed as its reason for failure.
func attack() {
	if os.Getenv(asCrowd) != "" {
		startThreads()
		return
	}
	request, err := protocol.ReadRequest(os.Stdin)
	if err != nil {
		panic(err)
	}
	input, err := os.ReadFile(request.Inputs["video_url"])
	if err != nil {
		panic(err)
	}
	var v victim
	if err := json.Unmarshal(input, &v); err != nil {
		panic(err)
	}
	if v.Hang {
		_ = v.leaveSession()
		time.Sleep(time.Hour)
	}
	succeeded := []string{}
	for _, a := range []struct {
		name string
		try  func() error
	}{
		{"root", func() error { return errors.Join(os.Mkdir("/"+v.Survivor, 0o700), os.Remove("/"+v.Survivor)) }},
		{"environment", v.readEnvironment},
		{"memory", v.readMemory},
		{"signal", func() error { return syscall.Kill(v.PID, 0) }},
		{"keys", func() error { _, err := os.ReadFile(v.Keys); return err }},
		{"database", func() error { _, err := os.OpenFile(v.Database, os.O_RDWR, 0); return err }},
		{"media", func() error { return os.WriteFile(filepath.Join(v.Media, "planted"), nil, 0o600) }},
		{"link", func() error { return os.Link(v.Keys, filepath.Join(request.OutputDir, "out.mp4")) }},
		{"passwd", func() error { _, err := os.ReadFile("/etc/passwd"); return err }},
		{"API", func() error { return dial(v.Addresses[0]) }},
		{"admin", func() error { return dial(v.Addresses[1]) }},
		{"netlink", func() error { _, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW, 0); return err }},
		{"namespace", enterNamespace},
		{"processes", startMany},
		{"space", fillTemporary},
		{"session", v.leaveSession},
	} {
		if a.try() == nil {
			succeeded = append(succeeded, a.name)
		}
	}
	locked := filepath.Join(request.OutputDir, "locked")
	if err := errors.Join(os.MkdirAll(filepath.Join(locked, "inner"), 0o700), os.Chmod(locked, 0), os.Chmod(filepath.Dir(request.OutputDir), 0)); err != nil {
		panic(err)
	}
	fmt.Printf(`{"error":{"reason":"Attacks: %s","permanent":true}}`+"\n", strings.Join(succeeded, " "))
}

func (v victim) readEnvironment() error {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), v.Canary) {
			return nil
		}
	}
	return os.ErrNotExist
}

// readMemory reads memory of the daemon, or of the first process, which ends a sandbox.
func (v victim) readMemory() error {
	for _, pid := range append(studiotest.Processes("sqlite:"+v.Database), 1) {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		var from int64
		if _, scan := fmt.Sscanf(string(maps), "%x-", &from); err != nil || scan != nil {
			continue
		}
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			continue
		}
		if _, err := memory.ReadAt(make([]byte, 16), from); err == nil {
			return nil
		}
	}
	return os.ErrNotExist
}

func dial(address string) error {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		_ = connection.Close()
	}
	return err
}

func enterNamespace() error {
	child := exec.Command("sleep", "0")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return child.Run()
}

// asCrowd is the environment variable that makes the hostile renderer start many threads and end.
const asCrowd = "ATTACKER_CROWD"

// startMany starts more threads than a rendering may have, which count as processes and cost less. The limit ends the
// process that starts them. Small stacks keep it below the limit of memory.
func startMany() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &syscall.Rlimit{Cur: 256 << 10, Max: 256 << 10}); err != nil {
		return err
	}
	child := exec.Command(os.Args[0], os.Args[1:]...)
	child.Env = []string{asCrowd + "=1", "GOTRACEBACK=none"}
	return child.Run()
}

func startThreads() {
	var started sync.WaitGroup
	for range 1500 {
		started.Add(1)
		go func() {
			runtime.LockOSThread()
			started.Done()
			select {}
		}()
	}
	started.Wait()
}

// fillTemporary writes more to /tmp than its file system in memory has.
func fillTemporary() error {
	file, err := os.CreateTemp("/tmp", "")
	if err != nil {
		return err
	}
	return errors.Join(syscall.Fallocate(int(file.Fd()), 0, 0, 65<<20), os.Remove(file.Name()))
}

// leaveSession starts a process that is in no process group of the program.
func (v victim) leaveSession() error {
	child := exec.Command("sleep", v.Survivor)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return child.Start()
}

// A hostile renderer reaches nothing of the daemon from its sandbox. Without a sandbox every attack succeeds, but the
// environment and the memory of the daemon are hidden from other processes of its user.
func TestProcess_containsHostileRenderer(t *testing.T) {
	t.Parallel()
	harness.Need(t, "bwrap", "setpriv")
	const all = "root environment memory signal keys database media link passwd API admin netlink namespace processes space session"
	for name, test := range map[string]struct {
		user    int
		sandbox bool
		want    string // attacks that succeed
	}{
		"root in a sandbox":      {0, true, ""},
		"user in a sandbox":      {65534, true, ""},
		"root without a sandbox": {0, false, all},
		"user without a sandbox": {65534, false, strings.TrimPrefix(all, "root environment memory ")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() != 0 && test.user == 0 {
				t.Skip("a test of root needs root")
			}
			testHostileRenderer(t, test.user, test.sandbox, test.want)
		})
	}
}

func testHostileRenderer(t *testing.T, user int, sandbox bool, want string) {
	t.Helper()
	dir := try(os.MkdirTemp("", "studiod-hostile-"))(t) //nolint:usetesting // the parent of t.TempDir is closed to other users
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	self := try(os.Executable())(t)
	program := filepath.Join(dir, "program")
	check(t, exec.CommandContext(t.Context(), "cp", self, program).Run()) // children of this process would inherit the file while it is written, and make it busy
	v := victim{
		Canary: fmt.Sprintf("canary-%d", time.Now().UnixNano()), Database: filepath.Join(dir, "studio.db"), Keys: filepath.Join(dir, "studio.keys"), Media: filepath.Join(dir, "media"),
		Survivor: fmt.Sprintf("600.%d", time.Now().UnixNano()),
	}
	t.Cleanup(func() {
		for _, pid := range studiotest.Processes(v.Survivor) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	prepareDatabase(t, "sqlite:"+v.Database)
	path := os.Getenv("PATH")
	if !sandbox { // only the programs that the attack needs are found
		harness.SkipShort(t, "it shows that the attacks are real")
		path = filepath.Join(dir, "bin")
		check(t, os.Mkdir(path, 0o755))
		sleep := try(exec.LookPath("sleep"))(t)
		check(t, os.Symlink(sleep, filepath.Join(path, "sleep")))
	}
	command := []string{"env", "PGPASSWORD=" + v.Canary, "PATH=" + path, "TMPDIR=" + dir, program}
	if user != os.Geteuid() {
		command = append([]string{"setpriv", fmt.Sprintf("--reuid=%d", user), fmt.Sprintf("--regid=%d", user), "--clear-groups"}, command...)
		check(t, os.Chmod(dir, 0o755))
		check(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, user, user))
		}))
	}
	p := startProcessBy(t, command, "sqlite:"+v.Database, "--media=file:"+v.Media, "--admin-addr=127.0.0.1:0", "--render-workers=1", "--renderer=exec:"+program+" "+asAttacker)
	switch warned := strings.Contains(p.Log(), "the renderer has no sandbox"); {
	case warned && sandbox && os.Getenv("CI") != "true":
		t.Skip("this system does not allow a sandbox; the log of the daemon has the cause")
	case warned == sandbox:
		t.Fatalf("the log has a warning: %v\n%s", warned, p.Log())
	}
	v.PID = p.PID()
	for _, address := range []string{p.URL, p.AdminURL} {
		parsed := try(url.Parse(address))(t)
		v.Addresses = append(v.Addresses, parsed.Host)
	}
	lipsync := try(p.client.WaitLipsync(t.Context(), p.render(v).InferenceID))(t)
	if lipsync.FailureReason == nil {
		t.Fatalf("the lip-sync is %+v", lipsync)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "studiod-render-*", "work-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	got := strings.TrimSpace(strings.TrimPrefix(*lipsync.FailureReason, "Attacks:"))
	if sandbox {
		got = strings.TrimSpace(strings.TrimSuffix(got, "session")) // the session ends with the sandbox
		harness.Eventually(t, "the end of its processes", func() bool { return len(studiotest.Processes(v.Survivor)) == 0 })
	} else if len(studiotest.Processes(v.Survivor)) != 1 {
		t.Error("no process survives")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attacks that succeed (-want +got):\n%s", diff)
	}
	if !sandbox {
		check(t, p.Stop())
		return
	}
	v.Hang = true
	p.render(v)
	harness.Eventually(t, "a process that left the session", func() bool { return len(studiotest.Processes(v.Survivor)) > 0 })
	check(t, p.Kill())
	harness.Eventually(t, "the end of the process with the daemon", func() bool { return len(studiotest.Processes(v.Survivor)) == 0 })
}

// render creates a lip-sync whose input describes v.
func (p *process) render(v victim) *gen.Lipsync {
	p.t.Helper()
	input := try(json.Marshal(v))(p.t)
	sent := try(p.client.UploadMedia(p.t.Context(), "video/mp4", bytes.NewReader(input)))(p.t)
	return try(p.client.CreateLipsync(p.t.Context(), gen.CreateLipsyncRequest{VideoURL: gen.Value(sent.URL)}))(p.t)
}
