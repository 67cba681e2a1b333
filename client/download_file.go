package client

import (
	"context"
	"errors"
	"io"
	"os"
)

// Names of what [Client.DownloadFile] leaves when it is broken off.
const (
	partSuffix = ".part"
	etagSuffix = ".part.etag"
)

// DownloadFile writes a file of the service to the file called name, as [Client.Download] does. The
// content grows in name.part and gets its name when it is whole, in place of what has that name. What
// an earlier call left there, whose process may have been killed, is not downloaded again unless the
// file has changed.
func (c *Client) DownloadFile(ctx context.Context, file File, name string, options ...CallOption) error {
	d := c.newDownload(file, options)
	part, err := d.resume(name)
	defer func() {
		if part != nil {
			_ = part.Close()
		}
	}()
	if err != nil {
		return err
	}
	d.begin = func() (err error) {
		if part == nil {
			if part, err = os.OpenFile(name+partSuffix, os.O_RDWR|os.O_CREATE, 0o666); err != nil { //nolint:gosec // as os.Create
				return err
			}
		}
		// A part of one version never lies beside the tag of another.
		if err = os.Remove(name + etagSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err = part.Truncate(0); err == nil {
			_, err = part.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = os.WriteFile(name+etagSuffix, []byte(d.etag), 0o666) //nolint:gosec // as os.Create
		}
		d.to = part
		return err
	}
	if err := d.run(ctx); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+partSuffix, name); err != nil {
		return err
	}
	return os.Remove(name + etagSuffix)
}

// resume opens what an earlier call left, if it says which version of the file it is from.
func (d *download) resume(name string) (part *os.File, err error) {
	etag, err := os.ReadFile(name + etagSuffix)
	if err != nil || len(etag) == 0 || !headerValue(string(etag)) {
		return nil, nil //nolint:nilerr // then it begins anew
	}
	part, err = os.OpenFile(name+partSuffix, os.O_RDWR, 0)
	if err != nil {
		return nil, nil //nolint:nilerr // then it begins anew
	}
	if d.done, err = part.Seek(0, io.SeekEnd); err != nil {
		return part, err
	}
	d.etag, d.to = string(etag), part
	return part, nil
}
