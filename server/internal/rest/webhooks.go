package rest

import (
	"context"
	"encoding/json"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// GetWebhookSecrets serves GET /v1/webhooks/secret.
func (a *API) GetWebhookSecrets(
	ctx context.Context, _ gen.GetWebhookSecretsRequestObject,
) (gen.GetWebhookSecretsResponseObject, error) {
	secrets, err := a.studio.WebhookSecretsInForce(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return gen.GetWebhookSecrets200JSONResponse(secretList(secrets)), nil
}

// RotateWebhookSecret serves POST /v1/webhooks/rotate_secret.
func (a *API) RotateWebhookSecret(
	ctx context.Context, _ gen.RotateWebhookSecretRequestObject,
) (gen.RotateWebhookSecretResponseObject, error) {
	secrets, err := a.studio.RotateWebhookSecret(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return gen.RotateWebhookSecret200JSONResponse(secretList(secrets)), nil
}

// TestWebhook serves POST /v1/webhooks/test.
func (a *API) TestWebhook(
	ctx context.Context, request gen.TestWebhookRequestObject,
) (gen.TestWebhookResponseObject, error) {
	attempt, err := a.studio.TestWebhook(ctx, caller(ctx), request.Body.WebhookURL, kindOf(request.Body.EventType))
	if err != nil {
		return nil, err
	}
	response := gen.TestWebhook200JSONResponse{
		Delivered: attempt.Delivered, DurationMs: attempt.Duration.Milliseconds(), Error: optional(attempt.Failure),
	}
	if attempt.Status != 0 {
		response.Status = &attempt.Status
	}
	return response, json.Unmarshal(attempt.Event.Body, &response.Event)
}

func kindOf(event gen.EventType) studio.Kind {
	switch event {
	case gen.EventTypeAvatar:
		return studio.Avatar
	case gen.EventTypeAvatarInference:
		return studio.Video
	default:
		return studio.Lipsync
	}
}

func secretList(secrets []studio.WebhookSecret) gen.WebhookSecretList {
	list := gen.WebhookSecretList{Data: make([]gen.WebhookSecret, len(secrets))}
	for i, secret := range secrets {
		list.Data[i] = gen.WebhookSecret{Secret: secret.Secret, ExpiresAt: optionalTime(secret.ExpiresAt)}
	}
	return list
}
