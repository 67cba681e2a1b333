package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// ErrNoFile is the error of a download of what an avatar, a video or a lip-sync does not have: it is
// still processing, it has failed, or its renderer made no such file.
var ErrNoFile = errors.New("client: there is no such file: it is not finished, or the renderer made none")

var (
	errAddress = errors.New("client: the service answered an address that cannot be downloaded from")
	errChanged = errors.New("client: the file has changed during the download")
)

// File is a file of an avatar, a video or a lip-sync, for [Client.Download].
type File struct {
	address func(ctx context.Context, c *Client, options []CallOption) (*string, error)
}

// AvatarThumbnail is the still picture of an avatar.
func AvatarThumbnail(id string) File {
	return fileOf(id, (*Client).GetAvatar, func(a *gen.Avatar) *string { return a.Thumbnail })
}

// VideoFile is a video that was made from an avatar.
func VideoFile(id string) File {
	return fileOf(id, (*Client).GetVideo, func(v *gen.Video) *string { return v.Video })
}

// VideoThumbnail is the still picture of a video that was made from an avatar.
func VideoThumbnail(id string) File {
	return fileOf(id, (*Client).GetVideo, func(v *gen.Video) *string { return v.Thumbnail })
}

// LipsyncFile is the video of a lip-sync.
func LipsyncFile(id string) File {
	return fileOf(id, (*Client).GetLipsync, func(l *gen.Lipsync) *string { return l.VideoURL })
}

// LipsyncThumbnail is the still picture of a lip-sync.
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

// Download writes a file to w. It asks the service for the address, and again when the address has
// expired. The address needs no token, so none is sent to its host.
//
// A download that breaks off continues where it stopped, unless the file has changed since.
// [Config].Retry bounds the attempts without a further byte, and [Config].Timeout the wait for the
// answer and for each further byte. A nil error means that w has the whole file.
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

// download is a file of which done bytes have been written.
type download struct {
	client  *Client
	call    *call
	file    File
	options []CallOption
	address string // "" when the service has to be asked

	// begin is called before the first byte of the file is written, also when the download has to
	// begin anew. It sets to.
	begin func() error
	to    io.Writer
	done  int64
	total int64  // -1 when it is not known
	etag  string // "" when the service has none that tells every change
	wrote error  // of to
}

func (c *Client) newDownload(file File, options []CallOption) *download {
	return &download{client: c, call: newCall(c.doer, options), file: file, options: options, total: -1}
}

func (d *download) run(ctx context.Context) error {
	if d.call.err != nil {
		return d.call.err
	}
	retry, renewed := d.call.limits.retry, false
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
		case n >= retry.Attempts || !reading.repeats(&attempt{err: err}, false) || !retry.allows(ctx, delay, err):
			return err
		}
		d.client.doer.logger.WarnContext(ctx, "downloading again", "attempt", n, "offset", d.done, "wait", delay, "err", err)
		if err := pause(ctx, delay, err); err != nil {
			return err
		}
	}
}

// expired reports whether an address no longer works, or not for what is left of the file.
func expired(err error) bool {
	if answer, ok := errors.AsType[*Error](err); ok {
		switch answer.StatusCode {
		case http.StatusForbidden, http.StatusGone, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable:
			return true
		}
	}
	return false
}

// locate asks the service for the address.
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
		u.Scheme == "http" && !d.client.allowHTTP && !loopback(u.Hostname()) {
		return errAddress
	}
	d.address = *address
	return nil
}

// attempt makes one request and writes what it is answered.
func (d *download) attempt(ctx context.Context) error {
	ctx, cancel, begun := bound(ctx, d.call.limits.timeout, true)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address, nil)
	if err != nil {
		return errAddress
	}
	doer := d.client.doer
	request.Header["User-Agent"] = doer.userAgent
	request.Header["Accept-Encoding"] = identity // what is compressed on the way has no ranges
	if d.done > 0 && d.etag != "" {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.done))
		request.Header.Set("If-Range", d.etag)
	}
	response, err := doer.http.Do(request)
	if err != nil {
		return transportError(request, err)
	}
	defer response.Body.Close()
	if !begun() {
		return transportError(request, context.DeadlineExceeded)
	}
	body := newPatientReader(response.Body, d.call.limits.timeout, cancel)
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

// accept makes ready for the body of an answer, which is the rest of the file or all of it.
func (d *download) accept(response *http.Response, body io.Reader) error {
	etag := response.Header.Get("ETag")
	if len(etag) > 0 && etag[0] != '"' { // a weak one
		etag = ""
	}
	same := d.done > 0 && d.etag != "" && etag == d.etag
	switch status := response.StatusCode; {
	case status == http.StatusPartialContent && same && d.continues(response.Header.Get("Content-Range")):
		return nil
	case status == http.StatusOK && same && (d.total < 0 || response.ContentLength == d.total): // it knows no ranges
		d.total = response.ContentLength
		if _, err := io.CopyN(io.Discard, body, d.done); err != nil {
			return transportError(response.Request, err)
		}
		return nil
	case status == http.StatusOK:
		d.total, d.etag = response.ContentLength, etag
		if d.wrote = d.begin(); d.wrote != nil {
			return d.wrote
		}
		d.done = 0
		return nil
	case status == http.StatusPartialContent, status == http.StatusRequestedRangeNotSatisfiable:
		d.etag = "" // the next attempt asks for the whole
	}
	content, err := io.ReadAll(io.LimitReader(body, maxProblem))
	if err != nil {
		return transportError(response.Request, err)
	}
	return newProblemError(response, content)
}

// continues reports whether a range is what is left of the file, and notes how long that is.
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

// patientReader reads a body, and gives up when a read takes longer than timeout.
type patientReader struct {
	io.Reader
	timer   *time.Timer
	timeout time.Duration
}

func newPatientReader(body io.Reader, timeout time.Duration, cancel func()) *patientReader {
	r := &patientReader{body, time.AfterFunc(timeout, cancel), timeout}
	r.timer.Stop()
	return r
}

func (r *patientReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.timeout)
	n, err := r.Reader.Read(p)
	if !r.timer.Stop() && err != nil {
		err = context.DeadlineExceeded
	}
	return n, err
}
