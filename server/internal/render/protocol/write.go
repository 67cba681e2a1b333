package protocol

import (
	"io"

	"github.com/go-json-experiment/json"
)

// WriteRequest writes the request of a program. It returns an error that wraps [ErrProtocol], and writes
// nothing, if request is invalid.
func WriteRequest(w io.Writer, request Request) error {
	if err := request.check(); err != nil {
		return err
	}
	return json.MarshalWrite(w, request)
}

// Write writes message as one line of a program's output. It returns an error that wraps [ErrProtocol], and
// writes nothing, if message is invalid.
func Write(w io.Writer, message Message) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := parse(line); err != nil {
		return protocolError("%w", err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
