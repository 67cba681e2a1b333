package client

import (
	"io"
	"net/http"
	"os"
)

// WithProgress calls report as a call gets on. Of [Client.Download] and its like, done and total are
// the bytes that have been written and that there are, and of [Client.UploadMedia] those that have been
// sent; total is -1 when it is not known, and done falls when something is sent again. Of
// [Client.WaitAvatar] and its like they are the progress in per cent and 100. A wait with a report asks
// the service as often as one without [Config].Receiver does.
//
// The calls of report come one after another. It should return soon.
func WithProgress(report func(done, total int64)) CallOption {
	return optionFunc(func(c *call) { c.progress = report })
}

func (c *call) report(done, total int64) {
	if c.progress != nil {
		c.progress(done, total)
	}
}

// reportProgress reports a progress in per cent, unless it is the one that was shown last.
func (c *call) reportProgress(percent *float64, last int64) int64 {
	if percent == nil || int64(*percent) == last {
		return last
	}
	c.report(int64(*percent), 100)
	return int64(*percent)
}

// reportBody reports how much of the body of a request has been read. It lets the service know the
// length of a file.
func (c *call) reportBody(request *http.Request) {
	if file, ok := request.Body.(*os.File); ok && request.ContentLength == 0 {
		if rest, known := restOf(file); known {
			request.ContentLength = rest
		}
	}
	if c.progress == nil || request.Body == nil || request.Body == http.NoBody {
		return
	}
	total := request.ContentLength
	if total == 0 {
		total = -1
	}
	request.Body = &reportingBody{ReadCloser: request.Body, call: c, total: total}
	if again := request.GetBody; again != nil {
		request.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return &reportingBody{ReadCloser: body, call: c, total: total}, err
		}
	}
}

// restOf returns how much of a regular file is to be read still.
func restOf(file *os.File) (int64, bool) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	at, err := file.Seek(0, io.SeekCurrent)
	return info.Size() - at, err == nil && info.Size() > at
}

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
