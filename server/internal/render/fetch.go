package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// MaxInput is the maximum size of an input in bytes.
const MaxInput = 300 << 20

const fetchTimeout = 10 * time.Minute

// Inputs fetches the input files that users name by URL. It is safe for concurrent use.
type Inputs struct {
	// Sender sends requests to other hosts. It refuses addresses that are not public.
	Sender *sender.Sender
	// Studio reads files that the service itself stores, without an HTTP request, and knows their owners.
	Studio *studio.Service
	// Key returns the media key in a URL, or "" if the URL does not name a file of the service. It also
	// reports whether the service has signed the URL.
	Key func(address string) (key string, signed bool)
}

// Fetch copies the content at url to file. It has the signature of [ExecConfig].Fetch. It takes at most
// 10 minutes and [MaxInput]. If the input is at fault, the error is a [*studio.RenderError], whose Retry is set
// after failures that may be transient. Any other error is a failure of the service.
func (i Inputs) Fetch(ctx context.Context, subject studio.Subject, url string, file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, unusable("took longer than 10 minutes to fetch.", true))
	defer cancel()
	own, err := i.openOwn(ctx, subject, url)
	switch {
	case err != nil:
		return err
	case own == nil:
		if own, err = i.openForeign(ctx, url); err != nil {
			return err
		}
	}
	defer func() { _ = own.Close() }()
	n, err := io.Copy(file, io.LimitReader(own, MaxInput+1))
	switch {
	case n > MaxInput:
		return unusable("is larger than 300 MiB.", false)
	case n == 0 && err == nil:
		return unusable("is empty.", false)
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return unusable("could not be fetched whole.", true)
	}
	return nil
}

// openOwn opens a file that the service stores. It returns nil if url does not name one, or if the URL is not
// signed and the file is not the subject's to use; see [studio.Service.OwnsMedia].
func (i Inputs) openOwn(ctx context.Context, subject studio.Subject, url string) (io.ReadCloser, error) {
	key, signed := i.Key(url)
	if key == "" {
		return nil, nil
	}
	if !signed {
		owned, err := i.Studio.OwnsMedia(ctx, subject, key)
		if err != nil || !owned {
			return nil, err
		}
	}
	content, err := i.Studio.Media.Open(ctx, key)
	if errors.Is(err, studio.ErrNotFound) {
		return nil, unusable("does not exist any more.", false)
	}
	return content, err
}

// openForeign requests a file from another host.
func (i Inputs) openForeign(ctx context.Context, url string) (io.ReadCloser, error) {
	response, err := i.Sender.Fetch(ctx, url)
	if refused, ok := errors.AsType[*sender.RefusedError](err); ok {
		return nil, unusable(refused.Reason+".", false)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unusable("could not be fetched: its host gives no answer.", true)
	}
	if err := checkResponse(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response.Body, nil
}

// checkResponse returns an error if a response cannot be an input.
func checkResponse(response *http.Response) error {
	status := response.StatusCode
	switch {
	case status != http.StatusOK:
		transient := status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
		return unusable(fmt.Sprintf("could not be fetched: its host answers %d.", status), transient)
	case response.ContentLength > MaxInput:
		return unusable("is larger than 300 MiB.", false)
	case !isMedia(response.Header.Get("Content-Type")):
		return unusable("is no video, picture or sound: its host says so by its Content-Type.", false)
	}
	return nil
}

// isMedia reports whether a file with this Content-Type may be a video, picture or sound. Playlists are
// not accepted, because they name other files.
func isMedia(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	kind, name, _ := strings.Cut(media, "/")
	switch {
	case err != nil, strings.Contains(name, "mpegurl"), strings.Contains(name, "svg"):
		return false
	case kind == "video", kind == "image", kind == "audio":
		return true
	default:
		return media == "application/octet-stream" || media == "binary/octet-stream" ||
			media == "application/mp4" || media == "application/ogg"
	}
}

// unusable returns the error for an input that cannot be used. reason completes the sentence "The
// audio_url …".
func unusable(reason string, retry bool) error {
	return &studio.RenderError{Reason: reason, Retry: retry}
}
