package rest

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A new event of the document needs a kind of subjects that it is about.
func TestKindOf_tellsTheEventsOfTheDocumentApart(t *testing.T) {
	t.Parallel()
	seen := map[studio.Kind]gen.EventType{}
	for _, eventType := range gen.EventTypes() {
		kind := kindOf(eventType)
		if other, ok := seen[kind]; ok {
			t.Errorf("%s has the kind of %s", eventType, other)
		}
		seen[kind] = eventType
	}
}
