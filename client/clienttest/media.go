package clienttest

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// filePath is the prefix of the paths of finished videos.
const filePath = "/media/"

// serveFile serves a placeholder for a finished video.
func (s *studio) serveFile(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, filePath), ".mp4")
	s.mu.Lock()
	subject := s.subjects[id]
	found := subject != nil && !subject.deleted() && subject.videoURL != nil
	s.mu.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+id+`"`)
	http.ServeContent(w, r, id+".mp4", time.Time{}, strings.NewReader("the video "+id))
}

const uploadLifetime = 7 * 24 * time.Hour

// UploadMedia counts the bytes of a file and discards them, because nothing in this package reads inputs.
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
