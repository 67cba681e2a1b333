package rest

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Each event type of the document has a different kind of subjects.
func TestKindOf_isDifferentForEachEventType(t *testing.T) {
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
