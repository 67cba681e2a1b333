package studio

import (
	"encoding/json"
	"time"
)

// Event is one notification about a subject. Its body is the same in all attempts.
type Event struct {
	ID        string
	SubjectID string
	Sequence  int64 // 1, 2, 3 and so on, within the subject
	Body      []byte
	CreatedAt time.Time
}

// announces reports whether entering a state creates an event (interface, 6.2). For avatars, all states do,
// and for other kinds only the final states.
func announces(kind Kind, status Status) bool {
	return kind == Avatar || status != Processing
}

// eventBody returns the notification that a subject has entered a state. It consists of the event type and
// the id and status of the subject (interface, 6.2).
func eventBody(kind Kind, id string, status Status) ([]byte, error) {
	type data struct {
		AvatarID    string `json:"avatar_id,omitempty"`
		InferenceID string `json:"inference_id,omitempty"`
		Status      Status `json:"status"`
	}
	type body struct {
		EventType string `json:"event_type"`
		Data      data   `json:"data"`
	}
	switch kind {
	case Avatar:
		return json.Marshal(body{"avatar_event", data{AvatarID: id, Status: status}})
	case Video:
		return json.Marshal(body{"avatar_inference_event", data{InferenceID: id, Status: status}})
	default:
		return json.Marshal(body{"lipsync_inference_event", data{InferenceID: id, Status: status}})
	}
}
