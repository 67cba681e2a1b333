package client

import (
	"io"
	"net/http"
	"os"
)

// WithProgress calls report during a call, as follows:
//
//   - For [Client.Download] and [Client.DownloadFile], done is the number of bytes written and total the size
//     of the file.
//   - For [Client.UploadMedia], done is the number of bytes sent and total the size of the body. A retry sets
//     done back to zero.
//
// If the size is not known, total is -1. Calls of report do not overlap. They delay the operation, so report
// should return quickly.
func WithProgress(report func(done, total int64)) CallOption {
	return optionFunc(func(c *call) { c.progress = report })
}

func (c *call) report(done, total int64) {
	if c.progress != nil {
		c.progress(done, total)
	}
}

// setLength sets the Content-Length of a regular file to the number of its unread bytes.
func setLength(request *http.Request) {
	file, ok := request.Body.(*os.File)
	if !ok || request.ContentLength != 0 {
		return
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		if at, err := file.Seek(0, io.SeekCurrent); err == nil && info.Size() > at {
			request.ContentLength = info.Size() - at
		}
	}
}

// reportingBody reports how much of a request body was read.
type reportingBody struct {
	io.ReadCloser
	call        *call
	done, total int64
}

func (b *reportingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.done += int64(n)
		b.call.report(b.done, b.total)
	}
	return n, err
}
