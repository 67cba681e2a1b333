package webhook

import (
	"context"
	"encoding/json"

	"github.com/avatarstudio/avatarstudio/gen"
)

// event is a decoded notification.
type event struct {
	gen.Event

	// subject is the id of the avatar, video or lip-sync. It is empty if the event has none, or has a type
	// that the document does not list.
	subject string

	call func(context.Context, Delivery) error
}

func (h Handlers) decode(body []byte) (event, error) {
	var e event
	if err := json.Unmarshal(body, &e.Event); err != nil || e.EventType == "" {
		return event{}, ErrMalformed
	}
	envelope := e.Event
	e.call = func(ctx context.Context, delivery Delivery) error {
		if h.Unhandled == nil {
			return nil
		}
		return h.Unhandled(ctx, envelope, delivery)
	}
	err := h.dispatch(&e)
	return e, err
}

func bind[E any](callback func(context.Context, E, Delivery) error, event E) func(context.Context, Delivery) error {
	return func(ctx context.Context, delivery Delivery) error { return callback(ctx, event, delivery) }
}
