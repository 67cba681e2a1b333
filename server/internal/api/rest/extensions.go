package rest

import (
	"cmp"
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// RefreshTokens serves POST /users/refresh.
func (a *API) RefreshTokens(
	ctx context.Context, request gen.RefreshTokensRequestObject,
) (gen.RefreshTokensResponseObject, error) {
	pair, err := a.studio.Refresh(ctx, server.ClientAddr(ctx), request.Body.RefreshToken)
	if err != nil {
		return nil, err
	}
	return gen.RefreshTokens200JSONResponse(tokenPair(pair)), nil
}

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
	if err != nil {
		return nil, err
	}
	return gen.CreateVideo200JSONResponse(a.video(subject)), nil
}

// ListVoices serves GET /v1/voices.
func (a *API) ListVoices(ctx context.Context, request gen.ListVoicesRequestObject) (gen.ListVoicesResponseObject, error) {
	voices, err := a.studio.ListVoices(ctx, value(request.Params.Language))
	if err != nil {
		return nil, err
	}
	list := make([]gen.Voice, len(voices))
	for i, v := range voices {
		list[i] = gen.NewVoice(v.Language, v.Name, v.ID)
		list[i].Gender = optional(v.Gender)
	}
	return gen.ListVoices200JSONResponse{Data: list}, nil
}

// SubmitConsent serves POST /v1/avatars/submit_consent.
func (a *API) SubmitConsent(
	ctx context.Context, request gen.SubmitConsentRequestObject,
) (gen.SubmitConsentResponseObject, error) {
	subject, err := a.studio.SubmitConsent(ctx, caller(ctx), request.Body.AvatarID, request.Body.Granted)
	if err != nil {
		return nil, err
	}
	return gen.SubmitConsent200JSONResponse(a.avatar(subject)), nil
}

// GetAvatar serves GET /v1/avatars/avatar_details.
func (a *API) GetAvatar(ctx context.Context, request gen.GetAvatarRequestObject) (gen.GetAvatarResponseObject, error) {
	subject, err := a.studio.Find(ctx, caller(ctx), studio.Avatar, request.Params.AvatarID)
	if err != nil {
		return nil, err
	}
	return gen.GetAvatar200JSONResponse(a.avatar(subject)), nil
}

// GetVideo serves GET /v1/avatars/inference_details.
func (a *API) GetVideo(ctx context.Context, request gen.GetVideoRequestObject) (gen.GetVideoResponseObject, error) {
	subject, err := a.studio.Find(ctx, caller(ctx), studio.Video, request.Params.InferenceID)
	if err != nil {
		return nil, err
	}
	return gen.GetVideo200JSONResponse(a.video(subject)), nil
}

// GetLipsync serves GET /v1/lipsync/inference_details.
func (a *API) GetLipsync(
	ctx context.Context, request gen.GetLipsyncRequestObject,
) (gen.GetLipsyncResponseObject, error) {
	subject, err := a.studio.Find(ctx, caller(ctx), studio.Lipsync, request.Params.InferenceID)
	if err != nil {
		return nil, err
	}
	return gen.GetLipsync200JSONResponse(a.lipsync(subject)), nil
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
