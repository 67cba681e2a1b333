package rest

import (
	"context"
	"math"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// CreateAvatar serves POST /v1/avatars/create_avatar.
func (a *API) CreateAvatar(
	ctx context.Context, request gen.CreateAvatarRequestObject,
) (gen.CreateAvatarResponseObject, error) {
	body := request.Body
	c, err := creation(
		ctx, body, inputs{"base_video_url": &body.BaseVideoURL}, body.Title.Value, request.Params.ProjectWorkspaceID, request.Params.IdempotencyKey, body.WebhookData, body.Webhook)
	if err != nil {
		return nil, err
	}
	subject, err := a.studio.CreateAvatar(ctx, c)
	return gen.CreateAvatar200JSONResponse(a.avatar(subject)), err
}

// SubmitConsent serves POST /v1/avatars/submit_consent.
func (a *API) SubmitConsent(
	ctx context.Context, request gen.SubmitConsentRequestObject,
) (gen.SubmitConsentResponseObject, error) {
	subject, err := a.studio.SubmitConsent(ctx, caller(ctx), request.Body.AvatarID, request.Body.Granted)
	return gen.SubmitConsent200JSONResponse(a.avatar(subject)), err
}

// GetAvatar serves GET /v1/avatars/avatar_details.
func (a *API) GetAvatar(ctx context.Context, request gen.GetAvatarRequestObject) (gen.GetAvatarResponseObject, error) {
	subject, err := a.studio.Find(ctx, caller(ctx), studio.Avatar, request.Params.AvatarID)
	return gen.GetAvatar200JSONResponse(a.avatar(subject)), err
}

func (a *API) avatar(s studio.Subject) gen.Avatar {
	var input gen.CreateAvatarRequest
	readInput(s, &input)
	avatar := gen.NewAvatar(s.ID, gen.AvatarStatus(s.Status))
	avatar.Title = s.Title
	avatar.BaseVideo = input.BaseVideoURL.Value
	avatar.Thumbnail = optional(a.studio.ResultURL(s.ID, s.Rendering.Thumbnail))
	avatar.Progress, avatar.ProgressStage, avatar.SecondsLeft = a.progress(s)
	avatar.AvatarProcessingResults = checks(s.Rendering.Checks)
	avatar.CreatedAt = &s.CreatedAt
	avatar.UpdatedAt = &s.UpdatedAt
	avatar.FailureReason = optional(s.FailureReason)
	if s.WebhookURL != "" {
		avatar.AvatarWebhook = &gen.AvatarWebhook{WebhookURL: &s.WebhookURL}
	}
	return avatar
}

// checks returns the results of the checks of the inputs, or nil if there are none.
func checks(found []studio.Check) *[]gen.AvatarProcessingResult {
	if len(found) == 0 {
		return nil
	}
	results := make([]gen.AvatarProcessingResult, len(found))
	for i, check := range found {
		status := "FAILED"
		if check.OK {
			status = "SUCCESS"
		}
		results[i] = gen.AvatarProcessingResult{CheckName: &check.Name, CheckStatus: &status, Message: &check.Message}
	}
	return &results
}

func (a *API) progress(s studio.Subject) (percent *float64, stage *string, secondsLeft *int) {
	progress := a.studio.Progress(&s)
	if progress.Left > 0 {
		secondsLeft = new(int(math.Ceil(progress.Left.Seconds())))
	}
	return new(float64(s.Progress)), optional(progress.Stage), secondsLeft
}
