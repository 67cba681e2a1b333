package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
)

// What the service sends is printed with its values: no address of an optional member, and no text as numbers.
func TestModels_printValues(t *testing.T) {
	t.Parallel()
	const notification = `{"data":{"avatar_id":"a","status":"failed"},"event_type":"avatar_event"}`
	for text, into := range map[string]any{
		`{"title":"Ada"}`: &gen.Project{},
		`{"data":[{"avatar_id":"a","status":"failed","title":"Ada"}]}`:         &gen.AvatarList{},
		`{"avatar_id":"a","inference_id":"b","status":"failed","title":"Ada"}`: &gen.Video{},
		`{"attempts_made":1,"created_at":"2026-01-12T09:41:12Z","ended_at":"2026-01-12T09:41:13Z","event_id":"e","notification":` + notification +
			`,"sequence":1,"state":"exhausted"}`: &gen.EventRecord{},
		notification: &gen.Event{},
	} {
		harness.Check(t, json.Unmarshal([]byte(text), into))
		if got := fmt.Sprintf("%+v", into); got != text {
			t.Errorf("%T is printed as %s, want %s", into, got, text)
		}
	}
	typed := gen.AvatarEvent{EventType: gen.EventTypeAvatar, Data: gen.AvatarEventData{AvatarID: "a", Status: gen.AvatarStatusFailed}}
	if got := fmt.Sprintf("%+v", typed); !strings.Contains(got, "AvatarID:a Status:failed") {
		t.Errorf("a typed event is printed as %s", got)
	}
}
