package httpserver

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

const (
	// passedBytes is how much of a response the buffers of net/http hold.
	passedBytes = 2 << 10
	// maxBuffer limits the buffer of a response.
	maxBuffer = 2 << 20
	// sendBytes is how much of a buffer is sent at once. Sending it is progress.
	sendBytes = 64 << 10
	// copyBytes is how much of a file is sent at once. It is not counted in the limit.
	copyBytes = 16 << 10
	// pooledBytes is the size of the buffers that are used again.
	pooledBytes = 32 << 10
)

// response is a ResponseWriter that buffers what a handler writes, and sends it after the handler has returned. So a
// client that reads slowly occupies the buffer, but nothing else that the handler uses. A response that does not fit
// in the buffer is sent while it is written. So are files, and what a handler flushes.
type response struct {
	http.ResponseWriter

	conn     *conn
	received bool // whether the request has been received completely
	written  int  // bytes that the handler has written
	buffer   []byte
	waiting  bool         // whether it is in the unread responses of the Listener
	held     atomic.Int64 // bytes counted in the limit
	active   atomic.Int64 // time of the last progress, as of conn
}

// setReceived protects the connection while the request is being handled.
func (w *response) setReceived() {
	w.conn.touch()
	w.conn.serving.Add(1)
	w.received = true
}

func (w *response) Write(p []byte) (int, error) {
	w.closeAfter()
	if w.written += len(p); w.written <= passedBytes {
		return w.ResponseWriter.Write(p)
	}
	if w.buffer == nil {
		if _, err := w.ResponseWriter.Write(nil); err != nil { // the header is complete
			return 0, err
		}
		if len(p) > copyBytes && len(p) <= pooledBytes { // most such responses are a single write
			w.buffer = buffers.Get().(*[pooledBytes]byte)[:0] //nolint:forcetypeassert // the pool has no other type
			w.hold(pooledBytes)
		}
	}
	if len(w.buffer)+len(p) <= maxBuffer {
		before := cap(w.buffer)
		if w.buffer = append(w.buffer, p...); cap(w.buffer) > before {
			w.hold(cap(w.buffer))
		}
		return len(p), nil
	}
	if err := w.sendBuffer(); err != nil {
		return 0, err
	}
	w.hold(len(p))
	defer w.hold(0)
	return w.send(p)
}

// ReadFrom implements [io.ReaderFrom]. It buffers little, so that large files take no memory.
func (w *response) ReadFrom(r io.Reader) (n int64, err error) {
	if err := w.sendBuffer(); err != nil {
		return 0, err
	}
	return io.CopyBuffer(writerFunc(w.send), struct{ io.Reader }{r}, make([]byte, copyBytes))
}

//nolint:gochecknoglobals // a pool
var buffers = sync.Pool{New: func() any { return new([pooledBytes]byte) }}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// FlushError supports [http.ResponseController].
func (w *response) FlushError() error {
	if err := w.sendBuffer(); err != nil {
		return err
	}
	w.beginWait()
	defer w.endWait()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap supports [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// sendBuffer sends the buffer and frees it.
func (w *response) sendBuffer() error {
	if w.buffer == nil {
		return nil
	}
	_, err := w.send(w.buffer)
	if cap(w.buffer) == pooledBytes {
		buffers.Put((*[pooledBytes]byte)(w.buffer[:pooledBytes]))
	}
	w.buffer = nil
	w.hold(0)
	return err
}

// send sends p in parts, to see progress.
func (w *response) send(p []byte) (n int, err error) {
	w.beginWait()
	defer w.endWait()
	for n < len(p) && err == nil {
		var sent int
		sent, err = w.ResponseWriter.Write(p[n:min(len(p), n+sendBytes)])
		n += sent
		w.active.Store(w.conn.touch())
	}
	return n, err
}

// beginWait is called before a write that may wait for the client. Until endWait, the connection may be closed to make
// room, as if no request was being handled.
func (w *response) beginWait() {
	w.active.Store(w.conn.touch())
	if w.received {
		w.conn.serving.Add(-1)
	}
	if w.held.Load() > 0 {
		w.waiting = true
		w.conn.listener.addUnread(w)
	}
}

func (w *response) endWait() {
	if w.waiting {
		w.waiting = false
		w.conn.listener.removeUnread(w)
	}
	if w.received {
		w.conn.serving.Add(1)
	}
}

// hold sets how many bytes the response holds in memory.
func (w *response) hold(n int) {
	n = max(0, n-copyBytes)
	w.conn.listener.unread.bytes.Add(int64(n) - w.held.Swap(int64(n)))
}

// end releases what the response holds, when it has been sent or has failed.
func (w *response) end() {
	w.hold(0)
	if w.received {
		w.conn.serving.Add(-1)
	}
}
