package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// DeleteAvatar serves POST /v1/avatars/delete_avatar.
func (a *API) DeleteAvatar(
	ctx context.Context, request gen.DeleteAvatarRequestObject,
) (gen.DeleteAvatarResponseObject, error) {
	return gen.DeleteAvatar204Response{}, a.studio.Delete(ctx, caller(ctx), studio.Avatar, request.Body.AvatarID)
}

// DeleteVideo serves POST /v1/avatars/delete_video.
func (a *API) DeleteVideo(
	ctx context.Context, request gen.DeleteVideoRequestObject,
) (gen.DeleteVideoResponseObject, error) {
	return gen.DeleteVideo204Response{}, a.studio.Delete(ctx, caller(ctx), studio.Video, request.Body.InferenceID)
}

// DeleteLipsync serves POST /v1/lipsync/delete_lipsync.
func (a *API) DeleteLipsync(
	ctx context.Context, request gen.DeleteLipsyncRequestObject,
) (gen.DeleteLipsyncResponseObject, error) {
	return gen.DeleteLipsync204Response{}, a.studio.Delete(ctx, caller(ctx), studio.Lipsync, request.Body.InferenceID)
}
