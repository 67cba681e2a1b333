package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// firstHour returns the blocks of commands in the section of the guide.
func firstHour(t *testing.T) (blocks []string) {
	t.Helper()
	for _, page := range guide.Pages() {
		if _, section, ok := strings.Cut(page.Markdown(), "\n## The first hour of a team\n"); ok {
			section, _, _ = strings.Cut(section, "\n## ")
			for _, found := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
				blocks = append(blocks, found[1])
			}
		}
	}
	if len(blocks) != 5 {
		t.Fatalf("the guide has %d blocks of commands, want to serve, call, back up, copy the key and restore", len(blocks))
	}
	return blocks
}

// A team follows the guide: each command is run as it is there, in another home and root, and with a domain of a test.
func TestGuide_firstHourOfATeam(t *testing.T) {
	t.Parallel()
	blocks := firstHour(t)
	a := startAuthority(t, authorityConfig{Validity: time.Hour, HTTPPort: plainPort, HTTPSPort: 1})
	home := t.TempDir()
	for _, directory := range []string{"bin", "mnt/backups", "mnt/safe", "tmp"} {
		check(t, os.MkdirAll(filepath.Join(home, directory), 0o700))
	}
	check(t, os.Symlink(thisProgram(t)[0], filepath.Join(home, "bin", "studiod")))
	check(t, os.WriteFile(filepath.Join(home, "roots.pem"), a.rootsPEM, 0o600))
	curl := "silent\nshow-error\ncacert = " + filepath.Join(home, "roots.pem") + "\nconnect-to = " + testDomain + ":443:" + a.addr(securePort) + "\n"
	check(t, os.WriteFile(filepath.Join(home, ".curlrc"), []byte(curl), 0o600))
	shell := func(block string) *exec.Cmd {
		block = regexp.MustCompile(`([ :=])/(mnt|tmp)/`).ReplaceAllString(block, "${1}"+home+"/$2/")
		command := exec.CommandContext(t.Context(), "sh", "-euc", block)
		command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
			return strings.HasPrefix(variable, "XDG_") || strings.HasPrefix(variable, "STUDIO_")
		}), asDaemon+"=1", "HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"), "STUDIO_LOG_FORMAT=text",
			"STUDIO_ADDR="+a.addr(securePort), "STUDIO_HTTP_ADDR="+a.addr(plainPort), "SSL_CERT_FILE="+a.trust, acmeVariable+"="+a.url)
		return command
	}
	run := func(block string) string {
		t.Helper()
		out, err := shell(block).CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v: %s", block, err, out)
		}
		return string(out)
	}
	serve := func(block string) (d *harness.Daemon, printed string) {
		t.Helper()
		d, printed = runPrinting(t, shell("exec "+block))
		a.await(t, a.addr(securePort))
		return d, printed
	}

	link := regexp.MustCompile(`https://` + regexp.QuoteMeta(testDomain) + `(/console/link)\?key=([^\s<]+)`)
	open := func(who *http.Client, text, email string) {
		t.Helper()
		found := link.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("there is no link: %s", text)
		}
		response := try(who.PostForm("https://"+a.addr(securePort)+found[1], url.Values{"key": {found[2]}, "email": {email}, "password": {testPassword}}))(t)
		if said := readAll(t, response); response.StatusCode != http.StatusSeeOther {
			t.Fatalf("the link of %s is answered %d: %s", email, response.StatusCode, said)
		}
	}
	visitor := func() *http.Client {
		client := a.client(t, false)
		jar := try(cookiejar.New(nil))(t)
		client.Jar = jar
		return client
	}
	first, printed := serve(blocks[0])
	if strings.Contains(first.Log(), "link?key=") {
		t.Error("the log contains the link")
	}
	ada := visitor()
	open(ada, printed, "ada@example.com")
	invitation := try(ada.PostForm("https://"+a.addr(securePort)+"/console/users/invite", url.Values{"email": {"bob@example.com"}}))(t)
	open(visitor(), readAll(t, invitation), "bob@example.com")
	if out := run(blocks[1]); !strings.Contains(out, `"data":[]`) {
		t.Errorf("curl prints %s", out)
	}
	check(t, first.Stop())
	second, printed := serve(blocks[2])
	if link.MatchString(printed) {
		t.Error("there is another link, although there is an operator")
	}
	harness.Eventually(t, "a backup", func() bool {
		made, err := filepath.Glob(filepath.Join(home, "mnt/backups/studio/db/*.age"))
		return err == nil && len(made) == 1
	})
	run(blocks[3])
	if out := run(blocks[4]); !strings.Contains(out, "ada@example.com") || !strings.Contains(out, "bob@example.com") {
		t.Errorf("the restored team is %s", out)
	}
	check(t, second.Stop())
}
