package client

import (
	"context"
	"errors"
	"io"
	"os"
)

// Suffixes of the files that an interrupted [Client.DownloadFile] leaves behind.
const (
	partSuffix = ".part"
	etagSuffix = ".part.etag"
)

// DownloadFile downloads a file, as [Client.Download] does, to the file called name. It writes to
// name.part and renames that to name, replacing an existing file, when the download is complete. A later
// call resumes a download that was interrupted, even by the end of the process. If the file has changed by
// then, DownloadFile starts over. Concurrent calls must not use the same name.
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
			if part, err = os.OpenFile(name+partSuffix, os.O_RDWR|os.O_CREATE, 0o666); err != nil { //nolint:gosec // the mode of os.Create
				return err
			}
		}
		// Remove the old tag first, so that the content of one version is never stored with the tag of
		// another.
		if err = os.Remove(name + etagSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err = part.Truncate(0); err == nil {
			_, err = part.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = os.WriteFile(name+etagSuffix, []byte(d.etag), 0o666) //nolint:gosec // the mode of os.Create
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

// resume opens the files of an interrupted download if they contain the version of the file.
func (d *download) resume(name string) (part *os.File, err error) {
	etag, err := os.ReadFile(name + etagSuffix)
	if err != nil || len(etag) == 0 || !headerValue(string(etag)) {
		return nil, nil //nolint:nilerr // without a tag the download starts over
	}
	part, err = os.OpenFile(name+partSuffix, os.O_RDWR, 0)
	if err != nil {
		return nil, nil //nolint:nilerr // without content the download starts over
	}
	if d.done, err = part.Seek(0, io.SeekEnd); err != nil {
		return part, err
	}
	d.etag, d.to = string(etag), part
	return part, nil
}
