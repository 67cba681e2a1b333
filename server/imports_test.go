package server_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/avatarstudio/avatarstudio/"

// Each package depends only on the packages of this module and the other modules that the layout allows.
func TestImports_followTheLayout(t *testing.T) {
	t.Parallel()
	const (
		openapi  = "github.com/getkin/kin-openapi"
		database = "modernc.org/sqlite"
		postgres = "github.com/jackc/pgx"
		traces   = "go.opentelemetry.io"
		exporter = "go.opentelemetry.io/otel/sdk"
	)
	contract := []string{
		"api", "api/runtime/encode", "api/runtime/style", "gen", "server", "api/runtime/stream", "server/validate", "server/validate/internal/document", "server/internal/pathtemplate",
	}
	domain := []string{"api/runtime/weburl", "api/runtime/standardwebhooks", "server/sender", "server/internal/studio"}
	for room, rule := range map[string]struct{ ours, never []string }{
		"api/tools/harness":               {},
		"api/runtime/weburl":              {never: []string{openapi, database, postgres, traces}},
		"api/runtime/commandline":         {never: []string{openapi, database, postgres, traces}},
		"api":                             {},
		"gen":                             {ours: []string{"api/runtime/encode", "api/runtime/stream", "api/runtime/style"}, never: []string{openapi, traces}},
		"client":                          {ours: []string{"api/runtime/encode", "api/runtime/stream", "api/runtime/style", "gen", "api/runtime/standardwebhooks", "client/webhook"}, never: []string{openapi, traces}},
		"server":                          {ours: []string{"api", "api/runtime/encode", "api/runtime/style", "gen", "api/runtime/stream", "server/validate", "server/validate/internal/document", "server/internal/pathtemplate"}, never: []string{openapi, database, postgres, traces}},
		"server/validate":                 {ours: []string{"api/runtime/encode", "api/runtime/stream", "server/validate/internal/document", "server/internal/pathtemplate"}, never: []string{openapi, database, postgres, traces}},
		"server/sender":                   {ours: []string{"api/runtime/weburl", "gen", "api/runtime/standardwebhooks"}, never: []string{openapi, database, postgres, traces}},
		"server/docs":                     {ours: []string{"server/internal/web/asset"}, never: []string{openapi, database, postgres, traces}},
		"server/internal/studio":          {ours: []string{"api/runtime/weburl", "api/runtime/standardwebhooks", "server/sender"}, never: []string{openapi, database, postgres, traces}},
		"server/internal/render":          {ours: slices.Concat(domain, []string{"gen", "server/internal/render/protocol", "server/internal/render/simulate", "server/internal/telemetry/faultlog"}), never: []string{openapi, database, postgres}},
		"server/internal/render/simulate": {ours: domain, never: []string{openapi, database, postgres}},
		"server/internal/render/protocol": {never: []string{openapi, database, postgres, "net/http"}},
		"server/cmd/studio-render/internal/talkinghead": {never: []string{openapi, database, postgres, "net/http", "database/sql"}},
		"server/internal/store/keyring":                 {},
		"server/internal/media/bucket":                  {ours: domain, never: []string{openapi, database, postgres, traces, "google.golang.org", "github.com/aws"}},
		"server/internal/store":                         {ours: slices.Concat(domain, []string{"server/internal/store/keyring"}), never: []string{openapi, exporter}},
		"server/internal/telemetry/tracing":             {never: []string{exporter}},
		"server/internal/api/rest":                      {ours: slices.Concat(contract, domain), never: []string{database, postgres}},
		"server/internal/api/auth":                      {ours: slices.Concat(contract, domain), never: []string{database, postgres}},
		"server/internal/api/passwords":                 {ours: domain, never: []string{database, postgres}},
		"server/internal/memstore":                      {ours: domain, never: []string{openapi}},
		"server/memory":                                 {ours: slices.Concat(contract, domain, []string{"server/internal/api/auth", "server/internal/memstore", "server/internal/render/simulate", "server/internal/api/rest"}), never: []string{openapi, database, postgres, traces, "golang.org/x/crypto/argon2"}},
		"server/internal/operate/mail":                  {ours: domain, never: []string{openapi, database, postgres, traces}},
		"server/internal/api/ratelimit":                 {ours: contract, never: []string{database, postgres}},
		"server/internal/web/console":                   {ours: slices.Concat(contract, domain, []string{"server/internal/web/asset", "server/internal/store", "server/internal/store/keyring"}), never: []string{openapi}},
		"server/internal/web/share":                     {ours: slices.Concat(contract, domain), never: []string{database, postgres}},
		"server/internal/deliver/lanes":                 {ours: slices.Concat(domain, []string{"server/internal/store", "server/internal/store/keyring"}), never: []string{openapi, exporter}},
		"server/internal/jobs":                          {ours: slices.Concat(domain, []string{"gen", "server/internal/deliver/lanes", "server/internal/store", "server/internal/store/keyring", "server/internal/telemetry/tracing", "server/internal/telemetry/faultlog"}), never: []string{openapi, exporter}},
	} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+room)
		list.Dir = ".."
		output, err := list.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", room, err)
		}
		for dependency := range strings.FieldsSeq(string(output)) {
			ours, ok := strings.CutPrefix(dependency, module)
			if ok && ours != room && !slices.Contains(rule.ours, ours) {
				t.Errorf("%s links %s", room, ours)
			}
			for _, never := range rule.never {
				if dependency == never || strings.HasPrefix(dependency, never+"/") {
					t.Errorf("%s links %s", room, dependency)
				}
			}
		}
	}
}

// client and server share api and gen and do not import each other. The exception is clienttest, which wraps package
// server/memory for the tests of callers.
func TestImports_clientAndServerAreIndependent(t *testing.T) {
	t.Parallel()
	for side, other := range map[string]string{"client": "server", "server": "client"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{$room := .ImportPath}}{{range .Deps}}{{$room}} {{.}}{{"\n"}}{{end}}`, "./"+side+"/...")
		list.Dir = ".."
		output, err := list.Output()
		if err != nil {
			t.Fatalf("go list %s: %v", side, err)
		}
		linked := 0
		for line := range strings.Lines(string(output)) {
			room, dependency, _ := strings.Cut(strings.TrimSpace(line), " ")
			linked++
			if room != module+"client/clienttest" && strings.HasPrefix(dependency, module+other) {
				t.Errorf("%s links %s", room, dependency)
			}
		}
		if linked == 0 {
			t.Errorf("%s links nothing", side)
		}
	}
}
