package clienttest

import (
	"context"
	"io"
	"mime"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const uploadLifetime = 7 * 24 * time.Hour

// UploadMedia counts the bytes of a file and keeps none of them: nothing here reads inputs.
func (s *studio) UploadMedia(_ context.Context, request gen.UploadMediaRequestObject) (gen.UploadMediaResponseObject, error) {
	mediaType, _, err := mime.ParseMediaType(request.ContentType)
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(io.Discard, request.Body)
	if err != nil {
		return nil, err
	}
	id := newID()
	return gen.UploadMedia201JSONResponse(
		gen.NewMedia(id, "https://media.example.com/uploads/"+id, mediaType, size, now().Add(uploadLifetime))), nil
}
