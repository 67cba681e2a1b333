package server

import (
	"context"
	"net/http"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Unimplemented answers every operation with 501. Embed it to implement some of them.
type Unimplemented struct{}

var _ gen.StrictServerInterface = Unimplemented{}

var errUnimplemented = &Error{Status: http.StatusNotImplemented, Detail: "This service does not implement this operation."}

// ListProjects answers 501.
func (Unimplemented) ListProjects(context.Context, gen.ListProjectsRequestObject) (gen.ListProjectsResponseObject, error) {
	return nil, errUnimplemented
}

// Login answers 501.
func (Unimplemented) Login(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return nil, errUnimplemented
}

// RefreshTokens answers 501.
func (Unimplemented) RefreshTokens(context.Context, gen.RefreshTokensRequestObject) (gen.RefreshTokensResponseObject, error) {
	return nil, errUnimplemented
}

// GetAvatar answers 501.
func (Unimplemented) GetAvatar(context.Context, gen.GetAvatarRequestObject) (gen.GetAvatarResponseObject, error) {
	return nil, errUnimplemented
}

// CreateAvatar answers 501.
func (Unimplemented) CreateAvatar(context.Context, gen.CreateAvatarRequestObject) (gen.CreateAvatarResponseObject, error) {
	return nil, errUnimplemented
}

// CreateVideo answers 501.
func (Unimplemented) CreateVideo(context.Context, gen.CreateVideoRequestObject) (gen.CreateVideoResponseObject, error) {
	return nil, errUnimplemented
}

// GetVideo answers 501.
func (Unimplemented) GetVideo(context.Context, gen.GetVideoRequestObject) (gen.GetVideoResponseObject, error) {
	return nil, errUnimplemented
}

// SubmitConsent answers 501.
func (Unimplemented) SubmitConsent(context.Context, gen.SubmitConsentRequestObject) (gen.SubmitConsentResponseObject, error) {
	return nil, errUnimplemented
}

// CreateLipsync answers 501.
func (Unimplemented) CreateLipsync(context.Context, gen.CreateLipsyncRequestObject) (gen.CreateLipsyncResponseObject, error) {
	return nil, errUnimplemented
}

// GetLipsync answers 501.
func (Unimplemented) GetLipsync(context.Context, gen.GetLipsyncRequestObject) (gen.GetLipsyncResponseObject, error) {
	return nil, errUnimplemented
}

// ListAvatars answers 501.
func (Unimplemented) ListAvatars(context.Context, gen.ListAvatarsRequestObject) (gen.ListAvatarsResponseObject, error) {
	return nil, errUnimplemented
}

// ListVideos answers 501.
func (Unimplemented) ListVideos(context.Context, gen.ListVideosRequestObject) (gen.ListVideosResponseObject, error) {
	return nil, errUnimplemented
}

// ListLipsyncs answers 501.
func (Unimplemented) ListLipsyncs(context.Context, gen.ListLipsyncsRequestObject) (gen.ListLipsyncsResponseObject, error) {
	return nil, errUnimplemented
}

// GetWebhookSecrets answers 501.
func (Unimplemented) GetWebhookSecrets(context.Context, gen.GetWebhookSecretsRequestObject) (gen.GetWebhookSecretsResponseObject, error) {
	return nil, errUnimplemented
}

// RotateWebhookSecret answers 501.
func (Unimplemented) RotateWebhookSecret(context.Context, gen.RotateWebhookSecretRequestObject) (gen.RotateWebhookSecretResponseObject, error) {
	return nil, errUnimplemented
}

// TestWebhook answers 501.
func (Unimplemented) TestWebhook(context.Context, gen.TestWebhookRequestObject) (gen.TestWebhookResponseObject, error) {
	return nil, errUnimplemented
}
