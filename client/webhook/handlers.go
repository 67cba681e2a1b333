package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/json"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Handlers are the callbacks of a [Receiver]. They may be called concurrently, and, though
// seldom, again for a notification that they have had before: notifications are delivered at
// least once. The context is that of the request, which ends when the service has waited long
// enough for the answer. An error or a panic makes the service deliver it again. Statuses that the
// document does not list are passed on as they are.
type Handlers struct {
	// Avatar is called when an avatar entered a state.
	Avatar func(context.Context, gen.AvatarEvent, Delivery) error

	// AvatarInference is called when a video made from an avatar ended.
	AvatarInference func(context.Context, gen.AvatarInferenceEvent, Delivery) error

	// LipsyncInference is called when a lip-sync ended.
	LipsyncInference func(context.Context, gen.LipsyncInferenceEvent, Delivery) error

	// Unhandled is called for types that the document does not list, and for those whose
	// callback is nil. Required. It should return nil for what it does not know.
	Unhandled func(context.Context, gen.Event, Delivery) error

	// Stale, if not nil, is called in place of the others for an event that comes after a later
	// one of the same avatar, video or lip-sync was handled.
	Stale func(context.Context, gen.Event, Delivery)
}

// event is a decoded notification.
type event struct {
	gen.Event

	// subject is the id of the avatar, video or lip-sync. Empty for types that the document
	// does not list.
	subject string
	status  string

	call func(context.Context, Delivery) error
}

// key tells the subjects of all types apart.
func (e event) key() digest {
	return sha256.Sum256([]byte(string(e.EventType) + "\x00" + e.subject))
}

func (h Handlers) decode(body []byte) (event, error) {
	var e event
	if err := json.Unmarshal(body, &e.Event); err != nil || e.EventType == "" {
		return event{}, ErrMalformed
	}
	envelope := e.Event
	e.call = func(ctx context.Context, delivery Delivery) error { return h.Unhandled(ctx, envelope, delivery) }
	switch e.EventType {
	case gen.EventTypeAvatar:
		var data gen.AvatarEventData
		if err := json.Unmarshal(e.Data, &data); err != nil || data.AvatarID == "" {
			return event{}, ErrMalformed
		}
		e.subject, e.status = data.AvatarID, string(data.Status)
		if h.Avatar != nil {
			e.call = bind(h.Avatar, gen.AvatarEvent{EventType: gen.EventTypeAvatar, Data: data})
		}
	case gen.EventTypeAvatarInference, gen.EventTypeLipsyncInference:
		var data gen.InferenceEventData
		if err := json.Unmarshal(e.Data, &data); err != nil || data.InferenceID == "" {
			return event{}, ErrMalformed
		}
		e.subject, e.status = data.InferenceID, string(data.Status)
		switch {
		case e.EventType == gen.EventTypeAvatarInference && h.AvatarInference != nil:
			e.call = bind(h.AvatarInference, gen.AvatarInferenceEvent{EventType: gen.EventTypeAvatarInference, Data: data})
		case e.EventType == gen.EventTypeLipsyncInference && h.LipsyncInference != nil:
			e.call = bind(h.LipsyncInference, gen.LipsyncInferenceEvent{EventType: gen.EventTypeLipsyncInference, Data: data})
		}
	}
	return e, nil
}

func bind[E any](callback func(context.Context, E, Delivery) error, event E) func(context.Context, Delivery) error {
	return func(ctx context.Context, delivery Delivery) error { return callback(ctx, event, delivery) }
}
