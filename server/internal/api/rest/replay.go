package rest

import (
	"context"
	"errors"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// ReplayEvents serves POST /v1/events/replay.
func (a *API) ReplayEvents(ctx context.Context, request gen.ReplayEventsRequestObject) (gen.ReplayEventsResponseObject, error) {
	body := request.Body
	replay := studio.Replay{
		Filter:   studio.EventFilter{UserID: caller(ctx), SubjectID: value(body.SubjectID), From: bound(body.Since), To: bound(body.Until)},
		EventIDs: value(body.EventIDs), DryRun: value(body.DryRun), IdempotencyKey: value(request.Params.IdempotencyKey),
	}
	if body.EventType != nil {
		replay.Filter.Kind = studio.KindOfEvent(string(*body.EventType))
	}
	for _, state := range value(body.States) {
		replay.States = append(replay.States, studio.EventState(state))
	}
	events, err := a.studio.ReplayEvents(ctx, replay)
	if errors.Is(err, studio.ErrRange) {
		response := MapError(ctx, err)
		response.Violations[0].Pointer = "/since"
		return nil, response
	}
	return gen.ReplayEvents200JSONResponse{Events: events, DryRun: replay.DryRun}, err
}
