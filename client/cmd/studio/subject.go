package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/avatarstudio/avatarstudio/api/runtime/commandline"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// subject is an avatar, a video or a lip-sync.
type subject struct {
	document json.RawMessage // of the service

	AvatarID      string   `json:"avatar_id"`
	InferenceID   string   `json:"inference_id"`
	Status        string   `json:"status"`
	Title         *string  `json:"title"`
	Progress      *float64 `json:"progress"` // in percent
	ProgressStage *string  `json:"progress_stage"`
	SecondsLeft   *int     `json:"seconds_left"`
	FailureReason *string  `json:"failure_reason"`
	Video         *string  `json:"video"`     // of a video
	VideoURL      *string  `json:"video_url"` // of a lip-sync
	CreatedAt     *string  `json:"created_at"`
	UpdatedAt     *string  `json:"updated_at"`

	Checks []gen.AvatarProcessingResult `json:"checks"` // of the inputs of a video or a lip-sync
}

// warnings returns what is wrong with the inputs of a record that was made nevertheless.
func (s *subject) warnings() string {
	var messages []string
	for _, c := range s.Checks {
		if gen.Or(c.CheckStatus, "") == "FAILED" {
			messages = append(messages, commandline.Printable(gen.Or(c.Message, "")))
		}
	}
	return strings.Join(messages, " ")
}

func (s *subject) id() string { return cmp.Or(s.InferenceID, s.AvatarID) }

func (s *subject) succeeded() bool {
	return s.Status == string(gen.AvatarStatusPublished) || s.Status == string(gen.InferenceStatusSucceeded)
}

// failed reports whether the status is final and not a success.
func (s *subject) failed() bool {
	return s.Status == string(gen.AvatarStatusFailed) || s.Status == string(gen.AvatarStatusConsentFailed)
}

// UnmarshalJSON keeps the document, which may have members that the program does not know. What it cannot read is left
// out, as in the client.
func (s *subject) UnmarshalJSON(document []byte) error { //nolint:unparam // json.Unmarshaler
	type members subject
	s.document = bytes.Clone(document)
	_ = json.Unmarshal(document, (*members)(s))
	return nil
}

// MarshalJSON returns the document.
func (s *subject) MarshalJSON() ([]byte, error) { return s.document.MarshalJSON() }

// request is a call that returns a subject or a list of them.
type request func(context.Context, *client.Client, ...client.CallOption) error

// sendInto makes a call and decodes the response.
func sendInto(ctx context.Context, c *client.Client, call request, into any, options ...client.CallOption) error {
	var response client.Response
	if err := call(ctx, c, append(options, client.WithResponse(&response))...); err != nil {
		return err
	}
	return json.Unmarshal(response.Body, into)
}

// send is [sendInto] for a subject.
func send(ctx context.Context, c *client.Client, call request, options ...client.CallOption) (*subject, error) {
	s := &subject{}
	return s, sendInto(ctx, c, call, s, options...)
}

// requestOf returns the request that calls a method of the client with a body or an id. The response is decoded
// separately.
func requestOf[B, T any](method func(*client.Client, context.Context, B, ...client.CallOption) (T, error), body B) request {
	return func(ctx context.Context, c *client.Client, options ...client.CallOption) error {
		_, err := method(c, ctx, body, options...)
		return err
	}
}

// show prints the response to a call.
func (p *program) show(ctx context.Context, command *cli.Command, c *client.Client, call request) error {
	s, err := send(ctx, c, call)
	if err != nil {
		return err
	}
	if command.Bool("json") {
		return commandline.PrintJSON(p.Stdout, s)
	}
	table := p.table(command)
	for _, row := range [][]string{
		{"id", s.id()},
		{"title", gen.Or(s.Title, "")},
		{"status", s.Status},
		{"reason", gen.Or(s.FailureReason, "")},
		{"warning", s.warnings()},
		{"video", gen.Or(cmp.Or(s.Video, s.VideoURL), "")},
		{"created", when(s.CreatedAt)},
		{"updated", when(s.UpdatedAt)},
	} {
		if row[1] != "" {
			_ = table.Add(nil, row...) // Flush returns write errors
		}
	}
	return table.Flush()
}
