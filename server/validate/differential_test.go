package validate_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

var (
	differentialPairs = flag.Int("validate.pairs", 50_000, "pairs of schema and document to compare")
	differentialSeed  = flag.Uint64("validate.seed", 1, "seed of the random schemas and documents")
)

// Random schemas and values get the same result as from an independent implementation of JSON Schema.
func TestSchema_Validate_agreesWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	const schemas, perSchema = 50, 100
	rounds := uint64(*differentialPairs+schemas*perSchema-1) / (schemas * perSchema)
	if testing.Short() {
		rounds = min(rounds, 2)
	}
	for round := range rounds {
		t.Run("round "+strconv.Itoa(int(round)), func(t *testing.T) {
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

// compare checks random values with both implementations, and returns how many were valid.
func compare(t *testing.T, g *generator, i int, mine *validate.Schema, theirs *jsonschema.Schema) int {
	t.Helper()
	body := g.body(i)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	harness.Check(t, err)
	got, want := mine.Validate([]byte(body)), theirs.Validate(value)
	if (got == nil) != (want == nil) {
		t.Fatalf("schema %d:\n%s\n%s\nhere: %v\nthere: %v", i, asJSON(g.schemas[i]), body, got, want)
	}
	if want == nil {
		return 1
	}
	return 0
}

// annotations are the keywords that JSON Schema or OpenAPI define as annotations.
var annotations = []string{
	"$comment", "$schema", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema", "default", "deprecated", "description",
	"discriminator", "example", "examples", "externalDocs", "title", "xml",
}

// The generator uses all keywords that have an effect, except for those that the suite or tests of requests use.
func TestGenerator_usesAllKeywords(t *testing.T) {
	t.Parallel()
	var schemas strings.Builder
	for seed := range uint64(4) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
		schemas.WriteString(asJSON(g.document(100)))
	}
	elsewhere := append(annotations, "$anchor", "$id", "$dynamicRef", "$dynamicAnchor", "definitions", "readOnly", "writeOnly")
	for _, keyword := range validate.Keywords() {
		if used := strings.Contains(schemas.String(), `"`+keyword+`":`); used == slices.Contains(elsewhere, keyword) && keyword != "description" {
			t.Errorf("random schemas have %s: %t", keyword, used)
		}
	}
}

func compileBoth(tb testing.TB, document map[string]any) (*validate.Validator, []*jsonschema.Schema) {
	tb.Helper()
	encoded, err := json.Marshal(document)
	harness.Check(tb, err)
	mine := compile(tb, string(encoded))
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
	harness.Check(tb, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	harness.Check(tb, compiler.AddResource("urn:document", value))
	var theirs []*jsonschema.Schema
	for i := range len(document["components"].(map[string]any)["schemas"].(map[string]any)) {
		s, err := compiler.Compile("urn:document#/components/schemas/" + schemaName(i))
		harness.Check(tb, err)
		theirs = append(theirs, s)
	}
	return mine, theirs
}

func schemaName(i int) string { return "S" + strconv.Itoa(i) }
