package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/avatarstudio/avatarstudio/gen"
)

// ErrNoFile is returned by downloads if the avatar, video or lip-sync has no such file: it is still
// processing, it failed, or the renderer did not produce the file.
var ErrNoFile = errors.New("client: no such file: the record is not finished, or the renderer created no file")

var (
	errAddress = errors.New("client: the service returned an invalid URL of a file")
	errChanged = errors.New("client: the file has changed during the download")
)

// File identifies a file of an avatar, a video or a lip-sync for [Client.Download]. The zero File is invalid.
type File struct {
	address func(ctx context.Context, c *Client, options []CallOption) (*string, error)
}

// AvatarThumbnail returns the still image of an avatar.
func AvatarThumbnail(id string) File {
	return fileOf(id, (*Client).GetAvatar, func(a *gen.Avatar) *string { return a.Thumbnail })
}

// VideoFile returns the video that was made from an avatar.
func VideoFile(id string) File {
	return fileOf(id, (*Client).GetVideo, func(v *gen.Video) *string { return v.Video })
}

// VideoThumbnail returns the still image of a video that was made from an avatar.
func VideoThumbnail(id string) File {
	return fileOf(id, (*Client).GetVideo, func(v *gen.Video) *string { return v.Thumbnail })
}

// LipsyncFile returns the video of a lip-sync.
func LipsyncFile(id string) File {
	return fileOf(id, (*Client).GetLipsync, func(l *gen.Lipsync) *string { return l.VideoURL })
}

// LipsyncThumbnail returns the still image of a lip-sync.
func LipsyncThumbnail(id string) File {
	return fileOf(id, (*Client).GetLipsync, func(l *gen.Lipsync) *string { return l.ThumbnailURL })
}

func fileOf[T any](
	id string, get func(*Client, context.Context, string, ...CallOption) (*T, error), address func(*T) *string,
) File {
	return File{func(ctx context.Context, c *Client, options []CallOption) (*string, error) {
		record, err := get(c, ctx, id, options...)
		if err != nil {
			return nil, err
		}
		return address(record), nil
	}}
}

// Download writes a file to w. It requests the URL of the file from the service, and a new URL if that one
// expires. The host of the file gets no token.
//
// An interrupted download resumes where it stopped. If the file has changed by then, Download fails,
// because w has received a part of the other file. [Config].Retry limits the attempts that make no
// progress, and [Config].Timeout limits the wait for the response and for each read. If the error is nil, w
// has received the whole file, unless the connection broke during a response that does not say how long it is.
// Download also fails if the URL of the file is http, unless BaseURL is http, its host is loopback or AllowHTTP is set.
func (c *Client) Download(ctx context.Context, file File, w io.Writer, options ...CallOption) error {
	d := c.newDownload(file, options)
	d.begin = func() error {
		if d.done > 0 {
			return errChanged
		}
		d.to = w
		return nil
	}
	return d.run(ctx)
}

// download is the state of a download.
type download struct {
	client  *Client
	call    *call
	file    File
	options []CallOption
	address string // URL of the file, or "" to request one from the service

	// begin is called before the first byte of the file is written, and again if the download starts over.
	// It sets to.
	begin func() error
	to    io.Writer
	done  int64
	total int64  // size of the file, or -1 if unknown
	etag  string // strong entity tag, or ""
	wrote error  // error of to
}

func (c *Client) newDownload(file File, options []CallOption) *download {
	return &download{client: c, call: newCall(c, options), file: file, options: options, total: -1}
}

func (d *download) run(ctx context.Context) error {
	retry, renewed := d.call.retry, false // an invalid option is the error of locate
	for n := 1; ; n++ {
		if d.address == "" {
			if err := d.locate(ctx); err != nil {
				return err
			}
		}
		before := d.done
		err := d.attempt(ctx)
		if err == nil {
			return nil
		}
		if d.done > before {
			n, renewed = 1, false
		}
		delay := retry.delay(n, err)
		switch {
		case d.wrote != nil || errors.Is(err, errChanged):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("client: downloading: %w: %w", ctx.Err(), err)
		case expired(err) && !renewed:
			d.address, renewed = "", true
			n--
			continue
		case n >= retry.Attempts || !retryable(err, true) || !retry.allows(ctx, delay):
			return err
		}
		d.client.config.Logger.WarnContext(ctx, "downloading again", "attempt", n, "offset", d.done, "wait", delay, "err", err)
		if err := pause(ctx, delay, err); err != nil {
			return err
		}
	}
}

// expired reports whether the URL has expired or expires too soon for the rest of the file.
func expired(err error) bool {
	errorResponse, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]int{
		http.StatusForbidden, http.StatusGone, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable,
	}, errorResponse.StatusCode)
}

// locate requests the URL of the file from the service.
func (d *download) locate(ctx context.Context) error {
	address, err := d.file.address(ctx, d.client, d.options)
	switch {
	case err != nil:
		return err
	case address == nil || *address == "":
		return ErrNoFile
	}
	u, err := url.Parse(*address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" ||
		u.Scheme == "http" && !d.client.config.AllowHTTP && !loopback(u.Hostname()) {
		return errAddress
	}
	d.address = *address
	return nil
}

// attempt sends one request and writes the content of the response.
func (d *download) attempt(ctx context.Context) error {
	ctx, limit := newTimeLimit(ctx, d.call.timeout)
	defer limit.end()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address, nil)
	if err != nil {
		return errAddress
	}
	if user := request.URL.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	request.Header["User-Agent"] = d.client.userAgent
	request.Header["Accept-Encoding"] = identity // ranges do not work with compressed content
	if d.done > 0 && d.etag != "" {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.done))
		request.Header.Set("If-Range", d.etag)
	}
	response, err := d.client.roundTrip(request)
	if err != nil {
		return transportError(request, timeoutError(ctx, err))
	}
	defer response.Body.Close()
	response.Request = request
	body := &timedBody{response.Body, limit}
	if !limit.timer.Stop() {
		return transportError(request, context.DeadlineExceeded)
	}
	if err := d.accept(response, body); err != nil {
		return err
	}
	d.call.report(d.done, d.total)
	_, err = io.Copy(d, body)
	switch {
	case d.wrote != nil:
		return d.wrote
	case err == nil && d.total >= 0 && d.done != d.total:
		err = io.ErrUnexpectedEOF
	case err == nil:
		return nil
	}
	return transportError(request, err)
}

// accept checks the header of a response, which has either the rest of the file or the whole file.
func (d *download) accept(response *http.Response, body io.Reader) error {
	etag := response.Header.Get("ETag")
	if len(etag) > 0 && etag[0] != '"' { // weak entity tags cannot be used with ranges
		etag = ""
	}
	same := d.done > 0 && d.etag != "" && etag == d.etag
	switch status := response.StatusCode; {
	case status == http.StatusPartialContent && same && d.continues(response.Header.Get("Content-Range")):
		return nil
	case status == http.StatusOK:
		d.total, d.etag = response.ContentLength, etag
		if d.wrote = d.begin(); d.wrote != nil {
			return d.wrote
		}
		d.done = 0
		return nil
	case status == http.StatusPartialContent, status == http.StatusRequestedRangeNotSatisfiable:
		d.etag = "" // the next attempt starts over
	}
	content, err := io.ReadAll(io.LimitReader(body, maxProblem))
	if err != nil {
		return transportError(response.Request, err)
	}
	return newProblemError(response, content)
}

// continues reports whether a Content-Range is the rest of the file, and records the size of the file.
func (d *download) continues(contentRange string) bool {
	var first, last, total int64
	_, err := fmt.Sscanf(contentRange, "bytes %d-%d/%d", &first, &last, &total)
	if err != nil || first != d.done || d.total >= 0 && total != d.total {
		return false
	}
	d.total = total
	return true
}

// Write implements [io.Writer] for [io.Copy].
func (d *download) Write(p []byte) (n int, err error) {
	n, err = d.to.Write(p)
	d.done += int64(n)
	d.wrote = err
	d.call.report(d.done, d.total)
	return n, err
}
