package api_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/smith"
)

var (
	smithSeed   = flag.Uint64("smith.seed", 1, "seed of the first random document")
	smithRounds = flag.Uint64("smith.rounds", 1, "random documents to write")
)

// Values of a document that is written at random from the grammar of api/tools/generate arrive unchanged, through the
// generated client, the server and back, if another validator calls them valid, and are refused with their place if it
// does not.
func TestSmith_valuesArriveOrAreRefused(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages")
	w := newWorkspace(t)
	name := filepath.Join(w.dir, "api", "openapi.yaml")
	document, err := os.ReadFile(name)
	w.check(err)
	for seed := *smithSeed; seed < *smithSeed+*smithRounds && !t.Failed(); seed++ {
		t.Logf("seed %d", seed)
		w.check(os.WriteFile(name, smith.New(seed).Insert(string(document), 40), 0o600))
		if output, err := w.run("go", "run", "./api/tools/generate", "api/openapi.yaml"); err != nil {
			t.Fatal(output)
		}
		w.check(os.WriteFile(filepath.Join(w.dir, "api/testdata/smith/registry_test.go"), w.registry(), 0o600))
		if output, err := w.run("go", "test", "-vet=off", "./api/testdata/smith", "-smith.seed", fmt.Sprint(seed)); err != nil {
			t.Error(output)
		}
	}
}

// registry returns a Go file that lists the operations of the smith with the types of their responses, which no
// reflection finds.
func (w workspace) registry() []byte {
	code, err := os.ReadFile(filepath.Join(w.dir, "gen", "api.gen.go"))
	w.check(err)
	var b strings.Builder
	b.WriteString("package smith\n\nimport (\n\t\"reflect\"\n\n\t\"github.com/avatarstudio/avatarstudio/client\"\n\t\"github.com/avatarstudio/avatarstudio/gen\"\n)\n\nfunc init() { operations = []operation{\n")
	visits := regexp.MustCompile(`(?m)^func \(response (\S+)\) Visit(\S+)Response\(`).FindAllStringSubmatch(string(code), -1)
	methods := regexp.MustCompile(`(?m)^\t// \((\w+) (/smith/\S+)\)\n(?:\t//.*\n)*\t(\S+)\(ctx`).FindAllStringSubmatch(string(code), -1)
	for _, m := range methods {
		fmt.Fprintf(&b, "{%q, %q, %q, reflect.TypeFor[gen.%sRequestObject](), []reflect.Type{", m[1], m[2], m[3], m[3])
		for _, visit := range visits {
			if visit[2] == m[3] {
				fmt.Fprintf(&b, "reflect.TypeFor[gen.%s](), ", visit[1])
			}
		}
		b.WriteString("}, []string{")
		for _, visit := range visits {
			if visit[2] == m[3] {
				fmt.Fprintf(&b, "%q, ", strings.TrimPrefix(visit[1], m[3]))
			}
		}
		b.WriteString("}},\n")
	}
	b.WriteString("}\n")
	for _, m := range regexp.MustCompile(`(?m)^type (\S+Response) (\p{Lu}[\pL\pN]*|json\.RawMessage|time\.Time|openapi_types\.Date)$`).FindAllStringSubmatch(string(code), -1) {
		base := fmt.Sprintf("reflect.TypeFor[gen.%s]()", m[2])
		if strings.Contains(m[2], ".") {
			base = fmt.Sprintf("foreign[%q]", m[2])
		}
		fmt.Fprintf(&b, "bases[reflect.TypeFor[gen.%s]()] = %s\n", m[1], base)
	}
	code, err = os.ReadFile(filepath.Join(w.dir, "client", "operations.gen.go"))
	w.check(err)
	for _, m := range regexp.MustCompile(`(?m)^type (\S+)Params struct`).FindAllStringSubmatch(string(code), -1) {
		fmt.Fprintf(&b, "optionTypes[%q] = reflect.TypeFor[client.%sParams]()\n", m[1], m[1])
	}
	b.WriteString("}\n")
	return []byte(b.String())
}
