package client

import (
	"fmt"
	"io"
	"log/slog"
)

const hidden = "[hidden]"

// Credential is a password or a token. It shows a placeholder when it is printed, logged or marshalled.
// Convert it to a string to read it.
//
// Package fmt calls no method of what is in an unexported field, so it shows a Credential, or a
// [Config], that a struct of yours has in one. Keep the [Client] there instead, which shows none.
type Credential string

// String returns a placeholder.
func (Credential) String() string { return hidden }

// GoString returns a placeholder.
func (Credential) GoString() string { return hidden }

// Format writes a placeholder whatever the verb.
func (Credential) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, hidden) }

// LogValue returns a placeholder.
func (Credential) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns a placeholder.
func (Credential) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON returns a placeholder.
func (Credential) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
