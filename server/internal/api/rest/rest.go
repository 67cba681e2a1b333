// Package rest implements the generated server interface with the domain in package studio. It only converts
// requests and responses, and contains no rules. Operations are in the file of their tag. Those that all kinds of
// records have are in lists.go and deletions.go. A response beside an error is not used.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
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

// MapError returns the response for an error of the domain, or nil if err is not a [*studio.Error]. It can be used as
// the MapError function of server.Config.
func MapError(_ context.Context, err error) *server.Error {
	refusal, ok := errors.AsType[*studio.Error](err)
	if !ok {
		return nil
	}
	response := &server.Error{Status: refusal.Status, Code: refusal.Code, Detail: refusal.Detail, RetryAfter: refusal.RetryAfter}
	if refusal.Pointer != "" {
		response.Violations = []gen.Violation{{Pointer: refusal.Pointer, Keyword: refusal.Keyword, Detail: refusal.Reason}}
	}
	return response
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

// creation returns the part that all creations have in common. request is the decoded body, with its inputs. The
// generated code encodes it with unknown members and in a fixed order.
func creation(
	ctx context.Context, request json.Marshaler, urls inputs, title, workspace, key *string,
	data gen.Nullable[gen.WebhookData], webhook gen.Nullable[gen.WebhookSwitch],
) (studio.Creation, error) {
	if err := urls.normalize(); err != nil {
		return studio.Creation{}, err
	}
	body, err := request.MarshalJSON() // json.Marshal would compact it again
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
