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

// The packages are installed on a Debian that has what they depend on, exists only in memory, and is in no network.
func TestPackages_installUpgradeAndRemove(t *testing.T) {
	t.Parallel()
	if os.Getenv("STUDIO_TEST_PACKAGES") == "" {
		t.Skip("the packages are tested by make check-packages, because building them and a Debian takes minutes")
	}
	scratch := t.TempDir()
	boot := func(script string) error {
		check(t, os.WriteFile(filepath.Join(scratch, "script.sh"), []byte(script), 0o600))
		return exec.CommandContext(t.Context(), "sh", "testdata/boot.sh", scratch, "script.sh").Run()
	}
	if err := boot("apt-get --version"); err != nil {
		t.Skipf("the packages are not tested, which needs root, systemd and apt-get: %v", err)
	}
	programs, packages := filepath.Join(scratch, "programs"), filepath.Join(scratch, "packages")
	check(t, os.Mkdir(programs, 0o700))
	for _, path := range []string{"server/cmd/studiod", "server/cmd/studio-render", "client/cmd/studio"} {
		program, err := gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/"+path)
		check(t, err)
		check(t, exec.CommandContext(t.Context(), "cp", program, programs).Run())
	}
	check(t, os.WriteFile(filepath.Join(scratch, "face.jpg"), face, 0o600))
	script, err := os.ReadFile("testdata/packages.sh")
	check(t, err)
	check(t, os.Mkdir(packages, 0o700))
	for _, version := range []string{"1.0.0", "1.1.0"} {
		output, err := exec.CommandContext(t.Context(), "make", "-C", "../../..", "package",
			"PROGRAMS="+programs, "ARCH="+runtime.GOARCH, "VERSION="+version, "TO="+packages, "FORMATS=deb").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	if err := boot("set -x\n" + string(script)); err != nil {
		output, _ := os.ReadFile(filepath.Join(scratch, "output"))
		t.Errorf("%v: %s", err, output)
	}
}
