package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDeploy_namesExistingSettings(t *testing.T) {
	t.Parallel()
	files := try(filepath.Glob("deploy/*"))(t)
	known, seen := must(t, "", "serve", "--help")+" $"+keysVariable, 0 // which is not a flag, because other users can see flags
	for _, file := range files {
		content := try(os.ReadFile(file))(t)
		for _, name := range regexp.MustCompile(`\bSTUDIO_\w+`).FindAllString(string(content), -1) {
			seen++
			if !regexp.MustCompile(`\$` + name + `\b`).MatchString(known) {
				t.Errorf("%s names %s, which no flag reads", file, name)
			}
		}
	}
	if seen == 0 {
		t.Error("no setting is named")
	}
}

// The context of an image build has nothing that git ignores, such as local databases.
func TestDeploy_imageHasNoIgnoredFiles(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	ignored := try(os.ReadFile(filepath.Join(root, ".gitignore")))(t)
	excluded := try(os.ReadFile(filepath.Join(root, ".dockerignore")))(t)
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
	// The threshold is ten times the printed exposure.
	output, err := exec.CommandContext(t.Context(), program, "security", "--offline=true", "--no-pager", "--threshold=30", "deploy/studiod.service").CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, output)
	}
}
