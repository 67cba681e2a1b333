package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
)

// ListVoices serves GET /v1/voices.
func (a *API) ListVoices(ctx context.Context, request gen.ListVoicesRequestObject) (gen.ListVoicesResponseObject, error) {
	voices, err := a.studio.ListVoices(ctx, value(request.Params.Language))
	list := make([]gen.Voice, len(voices))
	for i, v := range voices {
		list[i] = gen.NewVoice(v.Language, v.Name, v.ID)
		list[i].Gender = optional(v.Gender)
	}
	return gen.ListVoices200JSONResponse{Data: list}, err
}
