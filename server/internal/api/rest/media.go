package rest

import (
	"context"
	"mime"

	"github.com/avatarstudio/avatarstudio/gen"
)

// UploadMedia serves POST /v1/media.
func (a *API) UploadMedia(ctx context.Context, request gen.UploadMediaRequestObject) (gen.UploadMediaResponseObject, error) {
	mediaType, _, err := mime.ParseMediaType(request.ContentType)
	if err != nil {
		return nil, err
	}
	upload, url, err := a.studio.Upload(ctx, caller(ctx), mediaType, request.Body)
	return gen.UploadMedia201JSONResponse(
		gen.NewMedia(upload.ContentType, upload.ExpiresAt, upload.ID, upload.Size, url)), err
}
