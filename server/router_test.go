package server

import (
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// The document in JSON loads by itself, and has the operations of the document with descriptions.
func TestDocument_hasAllOperations(t *testing.T) {
	t.Parallel()
	operations := func(text []byte) (all []string) {
		validator, err := validate.Load(text, validate.Config{})
		harness.Check(t, err)
		for operation := range validator.Operations() {
			all = append(all, operation.ID()+" "+operation.Method()+" "+operation.Path())
		}
		return all
	}
	if got, want := operations(document), operations(api.Spec); !slices.Equal(got, want) {
		t.Errorf("operations %v, want %v", got, want)
	}
}
