package server_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/avatarstudio/avatarstudio/"

// What a package links, of this module and of others, is what the layout allows.
func TestImports_keepTheRooms(t *testing.T) {
	t.Parallel()
	const (
		openapi  = "github.com/getkin/kin-openapi"
		database = "modernc.org/sqlite"
		postgres = "github.com/jackc/pgx"
		queue    = "github.com/riverqueue/river"
	)
	for room, rule := range map[string]struct{ ours, never []string }{
		"api":                             {},
		"gen":                             {never: []string{openapi}},
		"server":                          {ours: []string{"api", "gen", "server/validate", "server/validate/internal/document"}, never: []string{openapi, database, postgres, queue}},
		"server/validate":                 {ours: []string{"server/validate/internal/document"}, never: []string{openapi, database, postgres, queue}},
		"server/sender":                   {ours: []string{"gen", "client/webhook"}, never: []string{openapi, database, postgres, queue}},
		"server/docs":                     {never: []string{openapi, database, postgres, queue}},
		"server/internal/studio":          {never: []string{openapi, database, postgres, queue, "github.com/google/uuid"}},
		"server/internal/render":          {ours: []string{"gen", "client/webhook", "server/sender", "server/internal/studio", "server/internal/render/protocol"}, never: []string{openapi, database, postgres, queue}},
		"server/internal/render/protocol": {never: []string{openapi, database, postgres, queue, "net/http"}},
		"server/internal/talkinghead":     {never: []string{openapi, database, postgres, queue, "net/http", "database/sql"}},
		"server/internal/store":           {ours: []string{"server/internal/studio"}, never: []string{openapi}},
		"server/internal/rest":            {ours: []string{"api", "gen", "server", "server/validate", "server/validate/internal/document", "server/internal/studio"}, never: []string{database, postgres, queue}},
		"server/internal/auth":            {ours: []string{"api", "gen", "server", "server/validate", "server/validate/internal/document", "server/internal/studio"}, never: []string{database, postgres, queue}},
		"server/internal/jobs":            {ours: []string{"gen", "client/webhook", "server/sender", "server/internal/studio", "server/internal/store"}, never: []string{openapi}},
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
