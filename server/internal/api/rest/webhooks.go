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
	return gen.GetWebhookSecrets200JSONResponse(secretList(secrets)), err
}

// RotateWebhookSecret serves POST /v1/webhooks/rotate_secret.
func (a *API) RotateWebhookSecret(
	ctx context.Context, _ gen.RotateWebhookSecretRequestObject,
) (gen.RotateWebhookSecretResponseObject, error) {
	secrets, err := a.studio.RotateWebhookSecret(ctx, caller(ctx))
	return gen.RotateWebhookSecret200JSONResponse(secretList(secrets)), err
}

// TestWebhook serves POST /v1/webhooks/test.
func (a *API) TestWebhook(
	ctx context.Context, request gen.TestWebhookRequestObject,
) (gen.TestWebhookResponseObject, error) {
	attempt, sample, err := a.studio.TestWebhook(ctx, caller(ctx), request.Body.WebhookURL, studio.KindOfEvent(string(request.Body.EventType)))
	if err != nil {
		return nil, err
	}
	response := gen.TestWebhook200JSONResponse{
		Delivered: attempt.Delivered(), DurationMs: attempt.Duration.Milliseconds(), Error: optional(string(attempt.Failure)),
	}
	if attempt.Status != 0 {
		response.Status = &attempt.Status
	}
	return response, json.Unmarshal(sample.Body, &response.Event)
}

// ListEndpoints serves GET /v1/webhooks/endpoints.
func (a *API) ListEndpoints(ctx context.Context, request gen.ListEndpointsRequestObject) (gen.ListEndpointsResponseObject, error) {
	page, err := a.studio.Endpoints(ctx, caller(ctx), value(request.Params.Cursor), pageSize(request.Params.Limit))
	list := gen.ListEndpoints200JSONResponse{Data: make([]gen.Endpoint, len(page.Endpoints)), NextCursor: optional(page.Next)}
	for i, e := range page.Endpoints {
		list.Data[i] = endpoint(e)
	}
	return list, err
}

// SetEndpoint serves POST /v1/webhooks/set_endpoint.
func (a *API) SetEndpoint(ctx context.Context, request gen.SetEndpointRequestObject) (gen.SetEndpointResponseObject, error) {
	enabled := request.Body.State == gen.EndpointSwitchEnabled
	e, err := a.studio.SetEndpoint(ctx, caller(ctx), request.Body.EndpointID, enabled)
	return gen.SetEndpoint200JSONResponse(endpoint(e)), err
}

func endpoint(e studio.Endpoint) gen.Endpoint {
	return gen.Endpoint{
		EndpointID: e.ID, URL: studio.WithoutQuery(e.URL), State: gen.EndpointState(e.State), Waiting: e.Waiting, Exhausted: e.Exhausted,
		FailingSince: optionalTime(e.FailingSince), LastSuccessAt: optionalTime(e.LastSuccessAt), PausedAt: optionalTime(e.PausedAt),
		DisabledReason: optional(string(e.DisabledReason)),
	}
}

func secretList(secrets []studio.WebhookSecret) gen.WebhookSecretList {
	list := gen.WebhookSecretList{Data: make([]gen.WebhookSecret, len(secrets))}
	for i, secret := range secrets {
		list.Data[i] = gen.WebhookSecret{Secret: secret.Secret, ExpiresAt: optionalTime(secret.ExpiresAt)}
	}
	return list
}
