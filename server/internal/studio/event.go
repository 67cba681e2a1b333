package studio

import (
	"encoding/json"
	"time"
)

// Event is one notification about a subject. Its bytes never change, whatever is tried.
type Event struct {
	ID        string
	SubjectID string
	Sequence  int64 // 1, 2, 3 … within the subject
	Body      []byte
	CreatedAt time.Time
}

// announces reports whether entering a state is an event (interface, 6.2): every state of
// an avatar, the final ones of the others.
func announces(kind Kind, status Status) bool {
	return kind == Avatar || status != Processing
}

// eventBody is the notification that a subject entered a state: the event type and the id and
// status of the subject, nothing more (interface, 6.2).
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
