package client

import (
	"fmt"
	"io"
	"log/slog"
)

const hidden = "[hidden]"

// Secret is a text that shows a placeholder when it is printed, logged or marshalled.
// Convert it to a string to read it.
//
// Package fmt calls no method of what is in an unexported field, so it shows a Secret, or a
// [Config], that a struct of yours has in one. Keep the [Client] there instead, which shows none.
type Secret string

// String returns a placeholder.
func (Secret) String() string { return hidden }

// GoString returns a placeholder.
func (Secret) GoString() string { return hidden }

// Format writes a placeholder whatever the verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, hidden) }

// LogValue returns a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns a placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON returns a placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
