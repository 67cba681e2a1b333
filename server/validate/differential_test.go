package validate_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

var (
	differentialPairs = flag.Int("validate.pairs", 200_000, "pairs of schema and document to compare")
	differentialSeed  = flag.Uint64("validate.seed", 1, "seed of the random schemas and documents")
)

// Random schemas and documents are judged as an independent implementation of JSON Schema
// judges them.
func TestDifferential(t *testing.T) {
	t.Parallel()
	const schemas, perSchema = 50, 100
	for round := range uint64(*differentialPairs+schemas*perSchema-1) / (schemas * perSchema) {
		t.Run("round "+itoa(int(round)), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d, round %d", *differentialSeed, round)
			g := &generator{Rand: rand.New(rand.NewPCG(*differentialSeed, round))}
			mine, theirs := compileBoth(t, g.document(schemas))
			valid := 0
			for i := range schemas {
				s, ok := mine.Schema(schemaName(i))
				if !ok {
					t.Fatalf("schema %d is missing", i)
				}
				for range perSchema {
					valid += compare(t, g, i, s, theirs[i])
				}
			}
			if pairs := schemas * perSchema; valid < pairs/10 || valid > pairs*9/10 {
				t.Errorf("%d of %d documents are valid, which proves little", valid, pairs)
			}
		})
	}
}

// compare has a random document judged by both, and returns how many were valid.
func compare(t *testing.T, g *generator, i int, mine *validate.Schema, theirs *jsonschema.Schema) int {
	t.Helper()
	body := g.body(i)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	got, want := mine.Validate([]byte(body)), theirs.Validate(value)
	if (got == nil) != (want == nil) {
		t.Fatalf("schema %d:\n%s\n%s\nhere: %v\nthere: %v", i, asJSON(g.schemas[i]), body, got, want)
	}
	if want == nil {
		return 1
	}
	return 0
}

func compileBoth(tb testing.TB, document map[string]any) (*validate.Validator, []*jsonschema.Schema) {
	tb.Helper()
	encoded, err := json.Marshal(document)
	if err != nil {
		tb.Fatal(err)
	}
	mine := compile(tb, string(encoded))
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("urn:document", value); err != nil {
		tb.Fatal(err)
	}
	var theirs []*jsonschema.Schema
	for i := range len(document["components"].(map[string]any)["schemas"].(map[string]any)) {
		s, err := compiler.Compile("urn:document#/components/schemas/" + schemaName(i))
		if err != nil {
			tb.Fatal(err)
		}
		theirs = append(theirs, s)
	}
	return mine, theirs
}

func schemaName(i int) string { return "S" + itoa(i) }
