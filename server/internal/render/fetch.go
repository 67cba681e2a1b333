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

const (
	maxInput     = 300 << 20 // bytes
	fetchTimeout = 10 * time.Minute
)

// Inputs fetches what users name by URL.
type Inputs struct {
	// Sender guards requests to other hosts.
	Sender *sender.Sender
	// Studio knows whose the files of the service itself are, which are read without a request.
	Studio *studio.Service
	// Key returns the key in an address of the service's media, and whether the service has signed
	// the address.
	Key func(address string) (key string, signed bool)
}

// Fetch is for [ExecConfig].
func (i Inputs) Fetch(ctx context.Context, subject studio.Subject, url string, file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, unusable("took longer than 10 minutes to fetch.", true))
	defer cancel()
	own, err := i.own(ctx, subject, url)
	switch {
	case err != nil:
		return err
	case own == nil:
		if own, err = i.foreign(ctx, url); err != nil {
			return err
		}
	}
	defer func() { _ = own.Close() }()
	n, err := io.Copy(file, io.LimitReader(own, maxInput+1))
	switch {
	case n > maxInput:
		return unusable("is larger than 300 MB.", false)
	case n == 0 && err == nil:
		return unusable("is empty.", false)
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return unusable("could not be fetched whole.", true)
	}
	return nil
}

// own opens a file of the service; nil when the address is another's.
func (i Inputs) own(ctx context.Context, subject studio.Subject, url string) (io.ReadCloser, error) {
	key, signed := i.Key(url)
	if key == "" {
		return nil, nil
	}
	if !signed {
		owned, err := i.Studio.OwnsMedia(ctx, subject.UserID, key)
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

func (i Inputs) foreign(ctx context.Context, url string) (io.ReadCloser, error) {
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
	if err := judge(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response.Body, nil
}

// judge says why an answer is no input.
func judge(response *http.Response) error {
	status := response.StatusCode
	switch {
	case status != http.StatusOK:
		passes := status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
		return unusable(fmt.Sprintf("could not be fetched: its host answers %d.", status), passes)
	case response.ContentLength > maxInput:
		return unusable("is larger than 300 MB.", false)
	case !playable(response.Header.Get("Content-Type")):
		return unusable("is no video, picture or sound: its host says so by its Content-Type.", false)
	}
	return nil
}

// playable reports whether a Content-Type may be that of a file that is played. Playlists, which
// name other files, are not.
func playable(contentType string) bool {
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

func unusable(reason string, retry bool) error {
	return &studio.RenderError{Reason: reason, Retry: retry}
}
