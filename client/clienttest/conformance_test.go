package clienttest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/gobuild"
	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	adaPassword = "correct horse battery staple"
	bobPassword = "staple battery horse correct"
)

// target is a service that the script runs against.
type target struct {
	url, workspace string
	secret         webhook.Secret
	// settle makes the service advance the subject until it has the status.
	settle func(t *testing.T, s *script, path, id, status string)
	// deliver makes the service send pending notifications. It is nil if the service does that by itself.
	deliver func()
}

// The same script gets the same responses and notifications from this package and from the daemon.
func TestService_respondsLikeDaemon(t *testing.T) {
	t.Parallel()
	fake, daemon := playTo(t, memoryTarget(t)), playTo(t, daemonTarget(t))
	if diff := cmp.Diff(daemon, fake); diff != "" {
		t.Errorf("clienttest differs from the daemon (-daemon +clienttest):\n%s", diff)
	}
	if calls := len(fake); calls < 80 {
		t.Errorf("the script has %d calls and notifications", calls)
	}
}

func memoryTarget(t *testing.T) target {
	t.Helper()
	service := clienttest.New(t)
	service.AllowInvalid()
	service.AddUser("bob@example.com", bobPassword)
	for _, project := range testProjects(t, service.UserID) {
		service.AddProject(project)
	}
	return target{
		url: service.URL, workspace: service.Workspace, secret: service.Secret,
		settle: func(t *testing.T, _ *script, path, id, status string) {
			t.Helper()
			if strings.Contains(path, "avatar_details") {
				service.SetAvatar(id, gen.AvatarStatus(status))
				return
			}
			service.SetInference(id, gen.InferenceStatus(status))
		},
		deliver: func() { service.Deliver() },
	}
}

func daemonTarget(t *testing.T) target {
	t.Helper()
	program, err := gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/server/cmd/studiod")
	check(t, err)
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "studio.db")
	run := func(stdin string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, args...)
		command.Env = append(os.Environ(), "STUDIO_DB="+dsn)
		command.Stdin = strings.NewReader(stdin)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("studiod %v: %v\n%s", args, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	ada := run(adaPassword, "user", "add", "ada@example.com")
	run(bobPassword, "user", "add", "bob@example.com")
	workspace := run("", "workspace", "add", "Team")
	run("", "workspace", "member", workspace, "ada@example.com")
	projects, err := json.Marshal(gen.ProjectList{Data: testProjects(t, ada)})
	check(t, err)
	run(string(projects), "project", "import", "--workspace", workspace, "-")
	secret, err := webhook.ParseSecret(run("", "secret", "show", "ada@example.com"))
	check(t, err)
	daemon := harness.RunDaemon(t, harness.Serve(context.Background(), []string{program}, dsn, "--renderer=simulate:0s", "--consent", "manual"))
	t.Cleanup(func() { check(t, daemon.Stop()) })
	return target{
		url: daemon.URL, workspace: workspace, secret: secret,
		settle: func(t *testing.T, s *script, path, id, status string) {
			t.Helper()
			harness.Eventually(t, path+id+" becomes "+status, func() bool {
				return strings.Contains(s.send(t, http.MethodGet, path+id, "").body, `"status":"`+status+`"`)
			})
		},
	}
}

func testProjects(t *testing.T, owner string) []gen.Project {
	t.Helper()
	var projects []gen.Project
	check(t, json.Unmarshal([]byte(`[
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d21","user_id":"`+owner+`","title":"Old","created_at":"2020-01-12T09:30:00Z",
		 "updated_at":"2020-01-12T10:02:41Z","status":"draft","tags":{"colors":["#2D7FF9"],"names":[]},
		 "thumbnails":{"thumbnail_png":"","custom_thumbnail":"x"},"available_credits":120},
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d22","user_id":"`+owner+`","title":"New","created_at":"2020-03-12T09:30:00Z",
		 "updated_at":"2020-03-12T10:02:41Z","status":"Published","project_type":"PERSONALIZED"},
		{"project_id":"01936f3e-7d00-7c4d-8e55-3a7a2b1c0d23","user_id":"01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00","title":"Hers",
		 "created_at":"2020-02-12T09:30:00Z","updated_at":"2020-02-12T10:02:41Z"}]`), &projects))
	return projects
}
