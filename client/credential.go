package client

import (
	"fmt"
	"io"
	"log/slog"
)

const hidden = "[hidden]"

// Credential is a password or a token. A Credential that is printed, logged or marshalled shows a
// placeholder. Convert it to a string to get the secret.
//
// Package fmt does not call methods on unexported fields. It therefore prints the secret of a Credential,
// or of a [Config], in an unexported field of another struct. Store a [Client] in such fields instead. Package
// encoding/json calls no methods on keys of maps that are strings, so a Credential must not be one.
type Credential string

// String returns a placeholder.
func (Credential) String() string { return hidden }

// Format writes a placeholder for every verb.
func (Credential) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, hidden) }

// LogValue returns a placeholder.
func (Credential) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns a placeholder.
func (Credential) MarshalText() ([]byte, error) { return []byte(hidden), nil }
