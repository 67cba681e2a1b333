package rest

import (
	"cmp"
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// CreateVideo serves POST /v1/avatars/create_video.
func (a *API) CreateVideo(
	ctx context.Context, request gen.CreateVideoRequestObject,
) (gen.CreateVideoResponseObject, error) {
	body := request.Body
	c, err := creation(ctx, body, inputs{"audio_url": &body.AudioURL}, body.Title.Value, request.Params.ProjectWorkspaceID,
		request.Params.IdempotencyKey, gen.Nullable[gen.WebhookData]{}, gen.Nullable[gen.WebhookSwitch]{})
	if err != nil {
		return nil, err
	}
	c.Speech = studio.Speech{
		Text: body.Text.Value, Recorded: value(body.AudioURL.Value) != "",
		Voice: value(body.Voice.Value), Language: value(body.Language.Value),
	}
	subject, err := a.studio.CreateVideo(ctx, body.AvatarID, c)
	return gen.CreateVideo200JSONResponse(a.video(subject)), err
}

// GetVideo serves GET /v1/avatars/inference_details.
func (a *API) GetVideo(ctx context.Context, request gen.GetVideoRequestObject) (gen.GetVideoResponseObject, error) {
	subject, err := a.studio.Find(ctx, caller(ctx), studio.Video, request.Params.InferenceID)
	return gen.GetVideo200JSONResponse(a.video(subject)), err
}

func (a *API) video(s studio.Subject) gen.Video {
	var input gen.CreateVideoRequest
	readInput(s, &input)
	v := gen.NewVideo(s.AvatarID, s.ID, gen.InferenceStatus(s.Status))
	v.Title = s.Title
	v.AvatarTitle = s.AvatarTitle
	v.InputText = input.Text.Value
	v.Voice = input.Voice.Value
	v.Language = cmp.Or(optional(s.Rendering.Language), input.Language.Value)
	v.Speed = input.Speed.Value
	v.Subtitles = optional(a.studio.ResultURL(s.ID, s.Rendering.Subtitles))
	v.Captions = optional(a.studio.ResultURL(s.ID, s.Rendering.Captions))
	v.Checks = checks(s.Rendering.Checks)
	v.Video = optional(a.studio.ResultURL(s.ID, s.Rendering.Video))
	v.Thumbnail = optional(a.studio.ResultURL(s.ID, s.Rendering.Thumbnail))
	v.Progress, v.ProgressStage, v.SecondsLeft = a.progress(s)
	v.CreatedAt = &s.CreatedAt
	v.UpdatedAt = &s.UpdatedAt
	v.FailureReason = optional(s.FailureReason)
	return v
}
