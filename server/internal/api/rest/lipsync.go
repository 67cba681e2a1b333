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
	c, err := creation(
		ctx, body, inputs{"video_url": &body.VideoURL, "audio_url": &body.AudioURL}, body.Title.Value, request.Params.ProjectWorkspaceID, request.Params.IdempotencyKey, body.WebhookData, body.Webhook)
	if err != nil {
		return nil, err
	}
	subject, err := a.studio.CreateLipsync(ctx, c)
	return gen.CreateLipsync200JSONResponse(a.lipsync(subject)), err
}

// GetLipsync serves GET /v1/lipsync/inference_details.
func (a *API) GetLipsync(
	ctx context.Context, request gen.GetLipsyncRequestObject,
) (gen.GetLipsyncResponseObject, error) {
	subject, err := a.studio.Find(ctx, caller(ctx), studio.Lipsync, request.Params.InferenceID)
	return gen.GetLipsync200JSONResponse(a.lipsync(subject)), err
}

func (a *API) lipsync(s studio.Subject) gen.Lipsync {
	var input gen.CreateLipsyncRequest
	readInput(s, &input)
	l := gen.NewLipsync(s.ID, gen.InferenceStatus(s.Status))
	l.Title = s.Title
	l.Description = input.Description.Value
	l.InputVideo = input.VideoURL.Value
	l.InputAudio = input.AudioURL.Value
	l.UseAudioFromVideo = input.UseAudioFromVideo.Value
	l.SyncMode = (*string)(input.SyncMode.Value)
	l.Checks = checks(s.Rendering.Checks)
	l.VideoURL = optional(a.studio.ResultURL(s.ID, s.Rendering.Video))
	l.ThumbnailURL = optional(a.studio.ResultURL(s.ID, s.Rendering.Thumbnail))
	l.Progress, l.ProgressStage, l.SecondsLeft = a.progress(s)
	l.CreatedAt = &s.CreatedAt
	l.UpdatedAt = &s.UpdatedAt
	l.FailureReason = optional(s.FailureReason)
	return l
}
