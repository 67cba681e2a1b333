// Package rest implements the generated server interface over the domain, with one file for
// each tag of the document. It converts and decides nothing.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// API serves the contract from a studio.
type API struct {
	studio *studio.Service
}

var _ gen.StrictServerInterface = (*API)(nil)

// New makes an API.
func New(studio *studio.Service) *API { return &API{studio: studio} }

// busyPause is what a caller is asked to wait when the service has too much to do.
const busyPause = 5 * time.Second

// answers says how the errors of the domain are answered. The first that fits counts; an error
// that is not here is a failure of the service.
//
//nolint:gochecknoglobals // a table
var answers = []struct {
	err    error
	answer server.Error
}{
	{studio.ErrUnauthorized, server.Error{Status: http.StatusUnauthorized, Code: "wrong_credentials", Detail: "The credentials are wrong."}},
	{studio.ErrForbidden, server.Error{Status: http.StatusForbidden, Code: "not_a_member", Detail: "You are not a member of this workspace."}},
	{studio.ErrNotFound, server.Error{Status: http.StatusNotFound, Detail: "There is no such record."}},
	{studio.ErrFinal, server.Error{Status: http.StatusConflict, Code: "avatar_final", Detail: "The avatar is in a final state."}},
	{studio.ErrNotPublished, server.Error{Status: http.StatusConflict, Code: "avatar_not_published", Detail: "The avatar is not published."}},
	{studio.ErrKeyInUse, server.Error{
		Status: http.StatusConflict, Code: "idempotency_key_in_use", Detail: "A request with the same Idempotency-Key is still running.",
	}},
	{studio.ErrKeyReused, server.Error{
		Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused",
		Detail: "The Idempotency-Key was used with another request.",
		Violations: []gen.Violation{
			{Pointer: "header:Idempotency-Key", Keyword: "idempotency", Detail: "must be new for a new request"},
		},
	}},
	{studio.ErrTitle, server.Error{
		Status: http.StatusUnprocessableEntity, Code: "title_invalid", Detail: "The title cannot be kept.",
		Violations: []gen.Violation{{Pointer: "/title", Keyword: "text", Detail: "must not contain U+0000"}},
	}},
	{studio.ErrKeySpent, server.Error{
		Status: http.StatusConflict, Code: "idempotency_key_spent", Detail: "What the Idempotency-Key created has been deleted.",
	}},
	{studio.ErrCursor, server.Error{
		Status: http.StatusBadRequest, Code: "cursor_invalid", Detail: "The request does not match the interface.",
		Violations: []gen.Violation{{Pointer: "query:cursor", Keyword: "cursor", Detail: "must be a next_cursor of the same list"}},
	}},
	{studio.ErrTooManyTries, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_login_tries", Detail: "Too many failed tries. Try again later.",
	}},
	{studio.ErrTooManySecrets, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_webhook_secrets", Detail: "Too many secrets are in force. Try again later.",
	}},
	{studio.ErrTooManyTests, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_webhook_tests", Detail: "Too many sample notifications. Try again later.",
	}},
	{studio.ErrTooManyCreations, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_creations", Detail: "Too many creations are in progress. Try again later.",
	}},
	{studio.ErrTooMuchMedia, server.Error{
		Status: http.StatusRequestEntityTooLarge, Code: "too_much_media", Detail: "Your files would be larger together than the service keeps.",
	}},
	{studio.ErrBusy, server.Error{
		Status: http.StatusServiceUnavailable, Code: "service_busy", Detail: "The service is busy. Try again later.", RetryAfter: busyPause,
	}},
}

// MapError is the answer to an error of the domain, for server.Config.
func MapError(_ context.Context, err error) *server.Error {
	for _, known := range answers {
		if errors.Is(err, known.err) {
			answer := known.answer
			if limited := (*studio.LimitError)(nil); errors.As(err, &limited) {
				answer.RetryAfter = limited.RetryAfter
			}
			return &answer
		}
	}
	if invalid := (*studio.InvalidError)(nil); errors.As(err, &invalid) {
		return &server.Error{
			Status: http.StatusUnprocessableEntity, Code: invalid.Code, Detail: "The webhook cannot be registered.",
			Violations: []gen.Violation{{Pointer: invalid.Pointer, Keyword: "webhook", Detail: invalid.Detail}},
		}
	}
	return nil
}

// caller is who makes the request; the document lets nobody else in.
func caller(ctx context.Context) string {
	principal, _ := server.PrincipalFrom(ctx)
	return principal.UserID
}

// creation is what the three creations have in common. request is the decoded body, which the
// generated code marshals with its unknown members and in a fixed order.
func creation(
	ctx context.Context, request any, title, key *string, data gen.Nullable[gen.WebhookData], webhook gen.Nullable[gen.WebhookSwitch],
) (studio.Creation, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return studio.Creation{}, err
	}
	c := studio.Creation{UserID: caller(ctx), Title: title, Request: body, RequestID: server.RequestID(ctx)}
	if key != nil {
		c.IdempotencyKey = *key
	}
	receiver, _ := data.Get()
	c.Webhook.URL, _ = receiver.WebhookURL.Get()
	toggle, _ := webhook.Get()
	c.Webhook.Enabled, _ = toggle.Enabled.Get()
	return c, nil
}

// readInput decodes the request that a subject was created with, for the members that the answer
// repeats.
func readInput(s studio.Subject, request json.Unmarshaler) {
	_ = request.UnmarshalJSON(s.Request) // creation wrote it from the same type
}

// optional is nil for a text that there is not.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
