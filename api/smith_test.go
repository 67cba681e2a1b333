package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/smith"
)

var (
	smithSeed   = flag.Uint64("smith.seed", 1, "seed of the first random document")
	smithRounds = flag.Uint64("smith.rounds", 1, "random documents to write")
	// Most of the time of a document goes by while its code is compiled.
	smithOperations = flag.Int("smith.operations", 80, "operations of a document")
)

// Values of documents that are written at random from the grammar of api/tools/generate arrive unchanged, through the
// generated client, the server and back, if another validator calls them valid, and are refused with their place if it
// does not. The documents have each part of the grammar, and the paths of testdata/texts, to which texts are sent that
// a reader could take for nothing.
func TestSmith_valuesArriveOrAreRefused(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it compiles the packages")
	w := newWorkspace(t)
	name := filepath.Join(w.dir, "api", "openapi.yaml")
	document := harness.Try(os.ReadFile(name))(w)
	texts := harness.Try(os.ReadFile("testdata/texts/paths.yaml"))(w)
	document = bytes.Replace(document, []byte("\npaths:\n"), append([]byte("\npaths:\n"), texts...), 1)
	output, err := w.run("go", "build", "-o", "generate", "./api/tools/generate")
	counts := map[string]int{}
	for seed := *smithSeed; err == nil && seed < *smithSeed+*smithRounds && !t.Failed(); seed++ {
		text := harness.Try(smith.New(seed).Insert(document, *smithOperations))(w)
		harness.Check(w, os.WriteFile(name, text, 0o600))
		if output, err = w.run("./generate", "api/openapi.yaml"); err != nil {
			break
		}
		harness.Check(w, os.WriteFile(filepath.Join(w.dir, "api/testdata/smith/registry_test.go"), w.registry(), 0o600))
		report := filepath.Join(w.dir, "report.json")
		output, err = w.run("go", "test", "-vet=off", "./api/testdata/smith", "-smith.seed", fmt.Sprint(seed), "-smith.operations", fmt.Sprint(*smithOperations), "-smith.report", report)
		if written, missing := os.ReadFile(report); missing == nil {
			var exchanged map[string]int
			harness.Check(w, json.Unmarshal(written, &exchanged))
			for kind, n := range exchanged {
				counts[kind] += n
			}
		}
		if err != nil {
			output = fmt.Sprintf("seed %d: %s", seed, output)
		}
	}
	if err != nil {
		t.Error(output)
	}
	sent, refused := 0, 0
	for kind, n := range counts {
		switch {
		case strings.HasPrefix(kind, "sent "):
			sent += n
		case strings.HasPrefix(kind, "refused for "):
			refused += n
		}
	}
	t.Logf("%d operations: %d valid requests arrived, %d invalid ones and %d invalid responses were refused", counts["operations"], sent, refused, counts["invalid responses"])
	for _, part := range slices.Concat(smith.Grammar, []string{"webhook", "streams beside JSON", "unions", "invalid responses"}) {
		if least := 20; counts[part] < least && !t.Failed() {
			t.Errorf("%d requests have %q, want %d", counts[part], part, least)
		}
	}
}

// registry returns a Go file that lists the operations of the smith with the types of their responses, which no
// reflection finds.
func (w workspace) registry() []byte {
	read := func(name string) string {
		code := harness.Try(os.ReadFile(filepath.Join(w.dir, name)))(w)
		return string(code)
	}
	code := read("gen/api.gen.go")
	var b strings.Builder
	b.WriteString("package smith\n\nimport (\n\t\"reflect\"\n\n\t\"github.com/avatarstudio/avatarstudio/client\"\n\t\"github.com/avatarstudio/avatarstudio/gen\"\n)\n\nfunc init() { operations = []operation{\n")
	responses := map[string]string{} // by operation
	media := regexp.MustCompile(`"([a-z]+/[^"]+)"`)
	shared := regexp.MustCompile(`^.*(\d\d\d|\dXX|default)(\pL*Response)$`)
	for _, m := range regexp.MustCompile(`(?ms)^func \(response (\S+)\) Visit(\S+)Response\((.+?)^\}`).FindAllStringSubmatch(code, -1) {
		sent := append(media.FindStringSubmatch(m[3]), "", "")[1]
		suffix, ok := strings.CutPrefix(m[1], m[2])
		if !ok { // operations share the type
			suffix = shared.ReplaceAllString(suffix, "$1$2")
		}
		responses[m[2]] += fmt.Sprintf("{%q, %q, reflect.TypeFor[gen.%s]()}, ", suffix, sent, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^\t// \((\w+) (/(?:smith|texts)/.+)\)\n(?:\t//.*\n)*\t(\S+)\(ctx`).FindAllStringSubmatch(code, -1) {
		fmt.Fprintf(&b, "{%q, %q, %q, reflect.TypeFor[gen.%sRequestObject](), []response{%s}, nil, false},\n", m[1], m[2], m[3], m[3], responses[m[3]])
	}
	b.WriteString("}\n")
	for _, m := range regexp.MustCompile(`(?m)^type (\S+Response) (\p{Lu}[\pL\pN]*|json\.RawMessage|time\.Time|openapi_types\.Date)$`).FindAllStringSubmatch(code, -1) {
		base := fmt.Sprintf("reflect.TypeFor[gen.%s]()", m[2])
		if strings.Contains(m[2], ".") {
			base = fmt.Sprintf("foreign[%q]", m[2])
		}
		fmt.Fprintf(&b, "bases[reflect.TypeFor[gen.%s]()] = %s\n", m[1], base)
	}
	for _, m := range regexp.MustCompile(`(?m)^type (\S+)Params struct`).FindAllStringSubmatch(read("client/operations.gen.go"), -1) {
		fmt.Fprintf(&b, "optionTypes[%q] = reflect.TypeFor[client.%sParams]()\n", m[1], m[1])
	}
	b.WriteString("}\n")
	return []byte(b.String())
}
