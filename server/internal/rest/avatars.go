package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// CreateAvatar serves POST /v1/avatars/create_avatar.
func (a *API) CreateAvatar(
	ctx context.Context, request gen.CreateAvatarRequestObject,
) (gen.CreateAvatarResponseObject, error) {
	body := request.Body
	c, err := creation(ctx, body, body.Title.Value, request.Params.IdempotencyKey, body.WebhookData, body.Webhook)
	if err != nil {
		return nil, err
	}
	subject, err := a.studio.CreateAvatar(ctx, c)
	if err != nil {
		return nil, err
	}
	return gen.CreateAvatar200JSONResponse(avatar(subject)), nil
}

func avatar(s studio.Subject) gen.Avatar {
	var input gen.CreateAvatarRequest
	readInput(s, &input)
	a := gen.NewAvatar(s.ID, gen.AvatarStatus(s.Status))
	a.Title = s.Title
	a.BaseVideo = input.BaseVideoURL.Value
	a.CreatedAt = &s.CreatedAt
	a.UpdatedAt = &s.UpdatedAt
	a.FailureReason = optional(s.FailureReason)
	if s.WebhookURL != "" {
		a.AvatarWebhook = &gen.AvatarWebhook{WebhookURL: &s.WebhookURL}
	}
	return a
}
