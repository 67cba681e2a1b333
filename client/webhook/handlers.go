package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Handlers are the callbacks of a [Receiver]. They may be called concurrently, and again for
// a notification that they have had before: notifications are delivered at least once. An
// error makes the service deliver it again. Statuses that the document does not list are
// passed on as they are.
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
}

func (h Handlers) dispatch(ctx context.Context, body []byte, delivery Delivery) error {
	var event gen.Event
	if err := json.Unmarshal(body, &event); err != nil || event.EventType == "" {
		return ErrMalformed
	}
	switch {
	case event.EventType == gen.EventTypeAvatarEvent && h.Avatar != nil:
		return call(ctx, h.Avatar, body, func(e gen.AvatarEvent) string { return e.Data.AvatarID }, delivery)
	case event.EventType == gen.EventTypeAvatarInferenceEvent && h.AvatarInference != nil:
		return call(ctx, h.AvatarInference, body, func(e gen.AvatarInferenceEvent) string { return e.Data.InferenceID }, delivery)
	case event.EventType == gen.EventTypeLipsyncInferenceEvent && h.LipsyncInference != nil:
		return call(ctx, h.LipsyncInference, body, func(e gen.LipsyncInferenceEvent) string { return e.Data.InferenceID }, delivery)
	}
	return failed(h.Unhandled(ctx, event, delivery))
}

func call[E any](ctx context.Context, callback func(context.Context, E, Delivery) error, body []byte, id func(E) string, delivery Delivery) error {
	var event E
	if err := json.Unmarshal(body, &event); err != nil || id(event) == "" {
		return ErrMalformed
	}
	return failed(callback(ctx, event, delivery))
}

func failed(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCallback, err)
	}
	return nil
}
