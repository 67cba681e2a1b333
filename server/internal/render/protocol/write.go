package protocol

import (
	"io"

	"github.com/go-json-experiment/json"
)

// WriteRequest writes what a program is started with.
func WriteRequest(w io.Writer, request Request) error {
	if err := request.check(); err != nil {
		return err
	}
	return json.MarshalWrite(w, request)
}

// Write writes one line of a program's output.
func Write(w io.Writer, message Message) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := parse(line); err != nil {
		return broken("%w", err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
