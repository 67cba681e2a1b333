package rest

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Each event type of the document has a different kind of subjects.
func TestKindOfEvent_isDifferentForEachEventType(t *testing.T) {
	t.Parallel()
	seen := map[studio.Kind]gen.EventType{}
	for _, eventType := range gen.EventTypes() {
		kind := studio.KindOfEvent(string(eventType))
		if other, ok := seen[kind]; ok || kind == "" {
			t.Errorf("%s has the kind %q, that of %s", eventType, kind, other)
		}
		seen[kind] = eventType
	}
}
