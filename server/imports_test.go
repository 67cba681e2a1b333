package server_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/avatarstudio/avatarstudio/"

// The linter holds who imports whom (depguard in .golangci.yml). What a package links in the end follows from the
// imports of others, so that only the go command can tell.
func TestImports_linkNothingElse(t *testing.T) {
	t.Parallel()
	const studiod, operate, testing, console = "server/cmd/studiod", "server/internal/operate", "server/internal/testing", "server/internal/web/console"
	stored := []string{studiod, operate, testing, console, "server/internal/deliver", "server/internal/render", "server/internal/store"}
	linkedBy := map[string][]string{ // the rooms that may link a module or a part of this one
		module + "client":              {"client"},
		module + "server":              {"server", "client/clienttest", "api/tools"},
		"github.com/getkin":            {"api/tools"},
		"modernc.org/sqlite":           stored,
		"github.com/jackc/pgx":         stored,
		"go.opentelemetry.io":          append(stored, "server/internal/telemetry"),
		"go.opentelemetry.io/otel/sdk": {studiod, "server/internal/telemetry/tracing/otlp"},
		"google.golang.org":            {testing},
		"google.golang.org/grpc":       {},
		"github.com/aws":               {},
		"testing":                      {"api/tools", "client/clienttest", testing},
		"golang.org/x/crypto/argon2":   {studiod, operate, testing, "server/internal/api/passwords", "server/internal/media"},
	}
	never := map[string][]string{ // what the packages of a room do not link
		"server/cmd/studio-render": {"net/http", "database/sql"},
		"server/memory":            {"database/sql"},
		"client":                   {"database/sql"},
	}
	users := []string{"github.com/oapi-codegen/runtime", "github.com/google/uuid", "github.com/apapsch/go-jsonmerge/v2"}
	only := map[string][]string{ // all modules that a package links, for programs that import it
		"gen":            users,
		"client":         users,
		"client/webhook": users,
		"client/clienttest": append(users, "github.com/golang-jwt/jwt/v5", "github.com/go-json-experiment/json", "go.yaml.in/yaml/v3",
			"golang.org/x/net", "golang.org/x/text"),
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	list.Dir = ".."
	output, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	under := func(path string, rooms ...string) bool {
		return slices.ContainsFunc(rooms, func(room string) bool { return path == room || strings.HasPrefix(path, room+"/") })
	}
	checked := 0
	for line := range strings.Lines(string(output)) {
		room, dependencies, _ := strings.Cut(strings.TrimPrefix(line, module), " ")
		for dependency := range strings.FieldsSeq(dependencies) {
			checked++
			for linked, rooms := range linkedBy {
				if under(dependency, linked) && !under(room, rooms...) {
					t.Errorf("%s links %s", room, dependency)
				}
			}
			for unlinked, paths := range never {
				if under(room, unlinked) && slices.Contains(paths, dependency) {
					t.Errorf("%s links %s", room, dependency)
				}
			}
			host, _, _ := strings.Cut(dependency, "/")
			if all, ok := only[room]; ok && strings.Contains(host, ".") && !strings.HasPrefix(dependency, module) && !under(dependency, all...) {
				t.Errorf("%s links %s", room, dependency)
			}
		}
	}
	if checked == 0 {
		t.Error("no package links another")
	}
}
