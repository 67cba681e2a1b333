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
		"api", "api/encode", "api/style", "gen", "server", "api/stream", "server/validate", "server/validate/internal/document", "server/internal/pathtemplate",
	}
	domain := []string{"api/weburl", "api/standardwebhooks", "server/sender", "server/internal/studio"}
	for room, rule := range map[string]struct{ ours, never []string }{
		"api/harness":                     {},
		"api/weburl":                      {never: []string{openapi, database, postgres, traces}},
		"api/commandline":                 {never: []string{openapi, database, postgres, traces}},
		"api":                             {},
		"gen":                             {ours: []string{"api/encode", "api/stream", "api/style"}, never: []string{openapi, traces}},
		"client":                          {ours: []string{"api/encode", "api/stream", "api/style", "gen", "api/standardwebhooks", "client/webhook"}, never: []string{openapi, traces}},
		"server":                          {ours: []string{"api", "api/encode", "api/style", "gen", "api/stream", "server/validate", "server/validate/internal/document", "server/internal/pathtemplate"}, never: []string{openapi, database, postgres, traces}},
		"server/validate":                 {ours: []string{"api/encode", "api/stream", "server/validate/internal/document", "server/internal/pathtemplate"}, never: []string{openapi, database, postgres, traces}},
		"server/sender":                   {ours: []string{"api/weburl", "gen", "api/standardwebhooks"}, never: []string{openapi, database, postgres, traces}},
		"server/docs":                     {ours: []string{"server/internal/asset"}, never: []string{openapi, database, postgres, traces}},
		"server/internal/studio":          {ours: []string{"api/weburl", "api/standardwebhooks", "server/sender"}, never: []string{openapi, database, postgres, traces}},
		"server/internal/render":          {ours: slices.Concat(domain, []string{"gen", "server/internal/render/protocol", "server/internal/render/simulate", "server/internal/faultlog"}), never: []string{openapi, database, postgres}},
		"server/internal/render/simulate": {ours: domain, never: []string{openapi, database, postgres}},
		"server/internal/render/protocol": {never: []string{openapi, database, postgres, "net/http"}},
		"server/internal/talkinghead":     {never: []string{openapi, database, postgres, "net/http", "database/sql"}},
		"server/internal/keyring":         {},
		"server/internal/bucket":          {ours: domain, never: []string{openapi, database, postgres, traces, "google.golang.org", "github.com/aws"}},
		"server/internal/store":           {ours: slices.Concat(domain, []string{"server/internal/keyring"}), never: []string{openapi, exporter}},
		"server/internal/tracing":         {never: []string{exporter}},
		"server/internal/rest":            {ours: slices.Concat(contract, domain), never: []string{database, postgres}},
		"server/internal/auth":            {ours: slices.Concat(contract, domain), never: []string{database, postgres}},
		"server/internal/passwords":       {ours: domain, never: []string{database, postgres}},
		"server/internal/memstore":        {ours: domain, never: []string{openapi}},
		"server/memory":                   {ours: slices.Concat(contract, domain, []string{"server/internal/auth", "server/internal/memstore", "server/internal/render/simulate", "server/internal/rest"}), never: []string{openapi, database, postgres, traces, "golang.org/x/crypto/argon2"}},
		"server/internal/mail":            {ours: domain, never: []string{openapi, database, postgres, traces}},
		"server/internal/ratelimit":       {ours: contract, never: []string{database, postgres}},
		"server/internal/console":         {ours: slices.Concat(contract, domain, []string{"server/internal/asset", "server/internal/store", "server/internal/keyring"}), never: []string{openapi}},
		"server/internal/share":           {ours: slices.Concat(contract, domain), never: []string{database, postgres}},
		"server/internal/jobs":            {ours: slices.Concat(domain, []string{"gen", "server/internal/store", "server/internal/keyring", "server/internal/tracing", "server/internal/faultlog"}), never: []string{openapi, exporter}},
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
