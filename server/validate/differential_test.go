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
	differentialPairs = flag.Int("validate.pairs", 20_000, "pairs of schema and document to compare")
	differentialSeed  = flag.Uint64("validate.seed", 1, "seed of the random schemas and documents")
)

// Random schemas and documents are judged as an independent implementation of JSON Schema
// judges them.
func TestDifferential(t *testing.T) {
	t.Parallel()
	const schemas, perSchema = 200, 20
	valid, pairs := 0, 0
	for round := uint64(0); pairs < *differentialPairs; round++ {
		g := &generator{Rand: rand.New(rand.NewPCG(*differentialSeed, round))}
		document := g.document(schemas)
		mine, theirs := compileBoth(t, document)
		for i := range schemas {
			s, ok := mine.Schema(schemaName(i))
			if !ok {
				t.Fatalf("schema %d is missing", i)
			}
			for range perSchema {
				body := g.body(i)
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				pairs++
				got, want := s.Validate([]byte(body)), theirs[i].Validate(value)
				if want == nil {
					valid++
				}
				if (got == nil) != (want == nil) {
					schema, _ := json.MarshalIndent(g.schemas[i], "", "  ")
					t.Fatalf("seed %d, round %d, schema %d:\n%s\n%s\nhere: %v\nthere: %v",
						*differentialSeed, round, i, schema, body, got, want)
				}
			}
		}
	}
	t.Logf("seed %d: %d pairs, %d of them valid", *differentialSeed, pairs, valid)
	if valid < pairs/10 || valid > pairs*9/10 {
		t.Errorf("%d of %d documents are valid, which proves little", valid, pairs)
	}
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
