// Package rest implements the generated server interface with the domain in package studio. It only converts
// requests and responses, and contains no rules. The operations of the interface are in the file of their tag;
// the extensions are in extensions.go, lists.go, deletions.go, media.go, events.go and webhooks.go.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/api/weburl"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// API implements the operations of the document.
type API struct {
	studio *studio.Service
}

var _ gen.StrictServerInterface = (*API)(nil)

// New returns an API.
func New(studio *studio.Service) *API { return &API{studio: studio} }

// AnonymousBodyBytes limits the bodies of operations that need no token.
const AnonymousBodyBytes = 16 << 10

// busyRetryAfter is the Retry-After of a 503.
const busyRetryAfter = 5 * time.Second

// errorResponses maps the errors of the domain to responses. The first match is used. All other errors
// result in 500.
//
//nolint:gochecknoglobals // a table
var errorResponses = []struct {
	err      error
	response server.Error
}{
	{studio.ErrUnauthorized, server.Error{Status: http.StatusUnauthorized, Code: "wrong_credentials", Detail: "The credentials are wrong."}},
	{studio.ErrForbidden, server.Error{Status: http.StatusForbidden, Code: "not_a_member", Detail: "You are not a member of this workspace."}},
	{studio.ErrOtherWorkspace, server.Error{
		Status: http.StatusForbidden, Code: "api_key_workspace", Detail: "This API key is for one workspace, and the avatar has videos in others.",
	}},
	{studio.ErrCreditsExhausted, server.Error{Status: http.StatusForbidden, Code: "credits_exhausted", Detail: "You have used all your seconds of video."}},
	{studio.ErrNotFound, server.Error{Status: http.StatusNotFound, Detail: "There is no such record."}},
	{studio.ErrFinal, server.Error{Status: http.StatusConflict, Code: "avatar_final", Detail: "The avatar is in a final state."}},
	{studio.ErrNotPublished, server.Error{Status: http.StatusConflict, Code: "avatar_not_published", Detail: "The avatar is not published."}},
	{studio.ErrImported, server.Error{Status: http.StatusConflict, Code: "project_imported", Detail: "Imported projects cannot be changed."}},
	{studio.ErrNoVideo, server.Error{
		Status: http.StatusConflict, Code: "project_without_video", Detail: "The project is an avatar and has no video to share.",
	}},
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
		Status: http.StatusUnprocessableEntity, Code: "title_invalid", Detail: "The title cannot be stored.",
		Violations: []gen.Violation{{Pointer: "/title", Keyword: "text", Detail: "must not contain U+0000"}},
	}},
	{studio.ErrText, server.Error{
		Status: http.StatusUnprocessableEntity, Code: "text_not_speakable", Detail: "The text cannot be spoken.",
		Violations: []gen.Violation{{Pointer: "/text", Keyword: "text", Detail: "must contain a letter or a digit"}},
	}},
	{studio.ErrThumbnail, server.Error{
		Status: http.StatusUnprocessableEntity, Code: "thumbnail_invalid", Detail: "The file cannot be the thumbnail of a project.",
		Violations: []gen.Violation{
			{Pointer: "/custom_thumbnail", Keyword: "media", Detail: "must be the media_id of a JPEG, PNG, WebP or GIF of at most 10 MiB"},
		},
	}},
	{studio.ErrCursor, server.Error{
		Status: http.StatusBadRequest, Code: "cursor_invalid", Detail: "The request does not match the interface.",
		Violations: []gen.Violation{{Pointer: "query:cursor", Keyword: "cursor", Detail: "must be a next_cursor of the same list"}},
	}},
	{studio.ErrPosition, server.Error{
		Status: http.StatusBadRequest, Code: "position_unknown", Detail: "The request does not match the interface.",
		Violations: []gen.Violation{{Pointer: "header:Last-Event-ID", Keyword: "cursor", Detail: "must be the id of an item of this stream"}},
	}},
	{studio.ErrRange, server.Error{
		Status: http.StatusUnprocessableEntity, Code: "range_invalid", Detail: "The range ends before it begins.",
		Violations: []gen.Violation{{Pointer: "query:since", Keyword: "range", Detail: "must not be after until"}},
	}},
	{studio.ErrReplayEmpty, server.Error{
		Status: http.StatusUnprocessableEntity, Code: "replay_empty", Detail: "The replay selects no events.",
		Violations: []gen.Violation{{Pointer: "/event_ids", Keyword: "range", Detail: "is required without since and until"}},
	}},
	{studio.ErrTooManyTries, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_login_tries", Detail: "Too many failed logins. Try again later.",
	}},
	{studio.ErrTooManySecrets, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_webhook_secrets", Detail: "Too many secrets are active. Try again later.",
	}},
	{studio.ErrTooManyTests, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_webhook_tests", Detail: "Too many sample notifications. Try again later.",
	}},
	{studio.ErrTooManyCreations, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_creations", Detail: "Too many creations are in progress. Try again later.",
	}},
	{studio.ErrTooManyReplays, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_replays", Detail: "Too many replays are in progress. Try again later.",
	}},
	{studio.ErrTooManyStreams, server.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_streams", Detail: "Too many streams are open. Close one, or try again later.",
	}},
	{studio.ErrTooMuchMedia, server.Error{
		Status: http.StatusRequestEntityTooLarge, Code: "too_much_media", Detail: "Your files would be larger together than the service keeps.",
	}},
	{studio.ErrBusy, *server.Busy(busyRetryAfter, nil)},
	{studio.ErrUnavailable, *server.Busy(busyRetryAfter, nil)},
}

// MapError returns the response for an error of the domain, or nil if err is not one. It can be used as the
// MapError function of server.Config.
func MapError(_ context.Context, err error) *server.Error {
	for _, known := range errorResponses {
		if errors.Is(err, known.err) {
			response := known.response
			if limited := (*studio.LimitError)(nil); errors.As(err, &limited) {
				response.RetryAfter = limited.RetryAfter
			}
			return &response
		}
	}
	if invalid := (*studio.InvalidError)(nil); errors.As(err, &invalid) {
		keyword, detail := "webhook", "The webhook cannot be registered."
		switch invalid.Code {
		case "unknown_voice":
			keyword, detail = "voice", "The service has no such voice."
		case "unknown_language":
			keyword, detail = "voice", "The service has no voice for this language."
		}
		return &server.Error{
			Status: http.StatusUnprocessableEntity, Code: invalid.Code, Detail: detail,
			Violations: []gen.Violation{{Pointer: invalid.Pointer, Keyword: keyword, Detail: invalid.Detail}},
		}
	}
	return nil
}

// caller returns the user id of the caller. All operations that use it require authentication.
func caller(ctx context.Context) string {
	principal, _ := server.PrincipalFrom(ctx)
	return principal.UserID
}

// inputs are the members of a request that are URLs of files, by their names.
type inputs map[string]*gen.Nullable[string]

// normalize brings the URLs into the form in which they are fetched.
func (urls inputs) normalize() error {
	var wrong []gen.Violation
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		if text, ok := urls[name].Get(); ok {
			u, err := weburl.Parse(text)
			if err != nil {
				wrong = append(wrong, gen.Violation{Pointer: "/" + name, Keyword: "format", Detail: err.Error()})
				continue
			}
			*urls[name] = gen.Value(u.String())
		}
	}
	if len(wrong) > 0 {
		return &server.Error{Status: http.StatusBadRequest, Detail: "The request does not match the interface.", Violations: wrong}
	}
	return nil
}

// creation returns the part that all creations have in common. request is the decoded body, with its inputs. The generated
// code encodes it with unknown members and in a fixed order.
func creation(
	ctx context.Context, request any, urls inputs, title, workspace, key *string,
	data gen.Nullable[gen.WebhookData], webhook gen.Nullable[gen.WebhookSwitch],
) (studio.Creation, error) {
	if err := urls.normalize(); err != nil {
		return studio.Creation{}, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return studio.Creation{}, err
	}
	c := studio.Creation{
		UserID: caller(ctx), WorkspaceID: value(workspace), Title: title, Request: body, RequestID: server.RequestID(ctx), IdempotencyKey: value(key),
	}
	receiver, _ := data.Get()
	c.Webhook.URL, _ = receiver.WebhookURL.Get()
	toggle, _ := webhook.Get()
	c.Webhook.Enabled, _ = toggle.Enabled.Get()
	return c, nil
}

// readInput decodes the request with which a subject was created, because responses repeat some of its
// members.
func readInput(s studio.Subject, request json.Unmarshaler) {
	_ = request.UnmarshalJSON(s.Request) // cannot fail: creation encoded the same type
}

// optional returns a pointer to text, or nil if text is "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
