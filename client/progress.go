package client

import (
	"io"
	"net/http"
	"os"
	"sync"
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

// setFile sets the Content-Length of a regular file to the number of its unread bytes. Each attempt reads these anew,
// unless the transport may read on while the response is streamed.
func (c *call) setFile(request *http.Request) {
	file, _ := request.Body.(*os.File) // nil is no file
	info, err := file.Stat()
	at, failed := file.Seek(0, io.SeekCurrent)
	if err != nil || failed != nil || !info.Mode().IsRegular() || info.Size() <= at {
		return
	}
	request.ContentLength = info.Size() - at
	if !c.operation.streams() {
		c.file = file
		request.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(file, at, request.ContentLength)), nil
		}
		request.Body, _ = request.GetBody()
	}
}

// reportingBody reports how much of a request body was read. The transport may read on after an attempt has ended,
// because the service responded early.
type reportingBody struct {
	io.ReadCloser
	call        *call
	done, total int64

	reporting sync.Mutex
	ended     bool
}

func (b *reportingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.reporting.Lock()
	defer b.reporting.Unlock()
	if n > 0 && !b.ended {
		b.done += int64(n)
		b.call.report(b.done, b.total)
	}
	return n, err
}

// end ends the reports. b may be nil.
func (b *reportingBody) end() {
	if b != nil {
		b.reporting.Lock()
		defer b.reporting.Unlock()
		b.ended = true
	}
}
