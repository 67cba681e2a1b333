package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// CreateLipsync serves POST /v1/lipsync/create_lipsync.
func (a *API) CreateLipsync(
	ctx context.Context, request gen.CreateLipsyncRequestObject,
) (gen.CreateLipsyncResponseObject, error) {
	body := request.Body
	c, err := creation(ctx, body, body.Title.Value, request.Params.IdempotencyKey, body.WebhookData, body.Webhook)
	if err != nil {
		return nil, err
	}
	subject, err := a.studio.CreateLipsync(ctx, c)
	if err != nil {
		return nil, err
	}
	return gen.CreateLipsync200JSONResponse(lipsync(subject)), nil
}

func lipsync(s studio.Subject) gen.Lipsync {
	var input gen.CreateLipsyncRequest
	readInput(s, &input)
	return gen.Lipsync{
		InferenceID:       s.ID,
		Status:            gen.InferenceStatus(s.Status),
		Title:             s.Title,
		Description:       input.Description.Value,
		InputVideo:        input.VideoURL.Value,
		InputAudio:        input.AudioURL.Value,
		UseAudioFromVideo: input.UseAudioFromVideo.Value,
		SyncMode:          (*string)(input.SyncMode.Value),
		VideoURL:          optional(s.VideoURL),
		CreatedAt:         &s.CreatedAt,
		UpdatedAt:         &s.UpdatedAt,
		FailureReason:     optional(s.FailureReason),
	}
}
