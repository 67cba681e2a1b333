package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
)

// MaxItem is the size in bytes above which an item of a request is refused, unless a validator has read the item.
const MaxItem = 1 << 20

// ErrItem is the error of an item that has no value of its Go type.
var ErrItem = errors.New("stream: the item cannot be decoded")

// Receive returns the items of a request body. They are read while the caller ranges over them, and can be read once. The
// last pair has the error with which reading ended, if any: that of a [Reader] or of the body, or [ErrItem].
// A request without a body has no items, whatever its content type is.
//
// If the body has a method like [Reader.Next], as one that a validator reads, Receive calls that instead of reading.
func Receive[T any](body io.Reader, contentType string) iter.Seq2[T, error] {
	return receive(body, contentType, func(frame Frame) (item T, err error) {
		err = json.Unmarshal(frame.Data, &item)
		return item, err
	})
}

// ReceiveEvents returns the server-sent events of a request body like [Receive].
func ReceiveEvents[T any](body io.Reader, contentType string) iter.Seq2[Event[T], error] {
	return receive(body, contentType, func(frame Frame) (Event[T], error) {
		var event Event[T]
		into := event.Set(frame)
		if into == nil {
			return event, nil
		}
		err := json.Unmarshal(frame.Data, into)
		return event, err
	})
}

func receive[T any](body io.Reader, contentType string, decode func(Frame) (T, error)) iter.Seq2[T, error] {
	type source interface{ Next() (Frame, error) }
	var err error
	reader, ok := body.(source) // package validate has read it already
	switch {
	case body == nil || body == http.NoBody:
		err = io.EOF
	case !ok:
		reader, err = NewReader(body, contentType, MaxItem)
	}
	return func(yield func(T, error) bool) {
		for err == nil {
			var frame Frame
			if frame, err = reader.Next(); err != nil {
				break
			}
			item, wrong := decode(frame)
			if wrong != nil {
				err = fmt.Errorf("%w: %w", ErrItem, wrong)
				break
			}
			if !yield(item, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(*new(T), err)
		}
	}
}
