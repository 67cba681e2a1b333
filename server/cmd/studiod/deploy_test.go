package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/gobuild"
)

// settings returns the environment variables of a command and its subcommands.
func settings(command *cli.Command) map[string]bool {
	all := make(map[string]bool)
	for _, flag := range command.Flags {
		if documented, ok := flag.(cli.DocGenerationFlag); ok {
			for _, name := range documented.GetEnvVars() {
				all[name] = true
			}
		}
	}
	for _, child := range command.Commands {
		for name := range settings(child) {
			all[name] = true
		}
	}
	return all
}

func TestDeploy_namesExistingSettings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("deploy/*")
	check(t, err)
	known, seen := settings(rootCommand(nil, nil, nil)), 0
	known[keysVariable] = true // not a flag, because other users can see flags
	for _, file := range files {
		content, err := os.ReadFile(file)
		check(t, err)
		for _, name := range regexp.MustCompile(`\bSTUDIO_\w+`).FindAllString(string(content), -1) {
			seen++
			if !known[name] {
				t.Errorf("%s names %s, which no flag reads", file, name)
			}
		}
	}
	if seen == 0 || !known["STUDIO_DB"] {
		t.Errorf("%d settings are named, of %d", seen, len(known))
	}
}

// The context of an image build has nothing that git ignores, such as local databases.
func TestDeploy_imageHasNoIgnoredFiles(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	check(t, err)
	excluded, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	check(t, err)
	for _, pattern := range lines(string(ignored)) {
		want := strings.Trim(pattern, "/")
		if !slices.ContainsFunc(lines(string(excluded)), func(line string) bool { return strings.TrimPrefix(line, "**/") == want }) {
			t.Errorf(".dockerignore does not exclude %s", pattern)
		}
	}
}

func TestDeploy_systemdUnitIsHardened(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skipf("%v: the hardening of studiod.service is not judged", err)
	}
	unit := filepath.Join(t.TempDir(), "studiod.service")
	content, err := os.ReadFile("deploy/studiod.service")
	check(t, err)
	check(t, os.WriteFile(unit, content, 0o600))
	// The threshold is ten times the printed exposure.
	output, err := exec.CommandContext(t.Context(), program, "security", "--offline=true", "--no-pager", "--threshold=30", unit).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, output)
	}
}

// The packages are installed on a copy of this machine that exists only in memory, and in no network.
func TestPackages_installUpgradeAndRemove(t *testing.T) {
	t.Parallel()
	if os.Getenv("STUDIO_TEST_PACKAGES") == "" {
		t.Skip("the packages are tested by make check-packages, because building them takes half a minute")
	}
	scratch := t.TempDir()
	inCopy := func(script string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-euc", `
			mount -t tmpfs tmpfs "$0" && mkdir -m 755 "$0/upper" "$0/work" "$0/root"
			mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
			exec bwrap --bind "$0/root" / --proc /proc --dev /dev --perms 1777 --tmpfs /tmp --ro-bind "$1" /mnt --unshare-pid --unshare-net \
				--cap-add ALL --die-with-parent --clearenv --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin sh -c "$2"`,
			scratch+"/copy", scratch, script)
	}
	check(t, os.Mkdir(scratch+"/copy", 0o700))
	if output, err := inCopy("apt-get --version").CombinedOutput(); err != nil {
		t.Skipf("the packages are not tested, which needs root, bubblewrap and apt-get: %v: %s", err, output)
	}
	programs, packages := filepath.Join(scratch, "programs"), filepath.Join(scratch, "packages")
	check(t, os.Mkdir(programs, 0o700))
	for _, path := range []string{"server/cmd/studiod", "server/cmd/studio-render", "client/cmd/studio"} {
		program, err := gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/"+path)
		check(t, err)
		check(t, exec.CommandContext(t.Context(), "cp", program, programs).Run())
	}
	script, err := os.ReadFile("testdata/packages.sh")
	check(t, err)
	check(t, os.Mkdir(packages, 0o700))
	for _, version := range []string{"1.0.0", "1.1.0"} {
		output, err := exec.CommandContext(t.Context(), "make", "-C", "../../..", "package",
			"PROGRAMS="+programs, "ARCH="+runtime.GOARCH, "VERSION="+version, "TO="+packages).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	output, err := inCopy("set -- /mnt/packages\n" + string(script)).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
